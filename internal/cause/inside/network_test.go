package inside

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/cause"
)

// TestThePodNetworkIsRead from the settings of each plugin; what a plugin finds out by itself
// is not known.
func TestThePodNetworkIsRead(t *testing.T) {
	t.Parallel()
	settings := func(namespace, name, key, value string) runtime.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: value}}
	}
	for name, test := range map[string]struct {
		objects []runtime.Object
		calico  string
		want    cause.PodNetwork
	}{
		"cilium":           {[]runtime.Object{settings("kube-system", "cilium-config", "mtu", "1442")}, "", cause.PodNetwork{Plugin: "cilium", Setting: "ConfigMap kube-system/cilium-config", MTU: 1442}},
		"cilium by itself": {[]runtime.Object{settings("kube-system", "cilium-config", "x", "y")}, "", cause.PodNetwork{}},
		"flannel":          {[]runtime.Object{settings("kube-flannel", "kube-flannel-cfg", "net-conf.json", `{"Backend": {"Type": "vxlan", "MTU": 1400}}`)}, "", cause.PodNetwork{Plugin: "flannel", Setting: "ConfigMap kube-flannel/kube-flannel-cfg", MTU: 1400}},
		"calico": {nil, `{"spec": {"calicoNetwork": {"mtu": 1450, "ipPools": [{"encapsulation": "VXLAN"}]}}}`,
			cause.PodNetwork{Plugin: "calico", Setting: "Installation default", MTU: 1450, Overhead: 50}},
		"calico by itself": {nil, `{"spec": {"calicoNetwork": {"ipPools": [{"encapsulation": "VXLANCrossSubnet"}]}}, "status": {"mtu": 1500}}`, cause.PodNetwork{Plugin: "calico", Setting: "Installation default", MTU: 1500}},
		"another":          {nil, "", cause.PodNetwork{}},
	} {
		a := &asked{client: fake.NewClientset(test.objects...), raw: func(context.Context, string) ([]byte, error) {
			if test.calico == "" {
				return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "installations"}, "default")
			}
			return []byte(test.calico), nil
		}}
		err := a.network(t.Context())
		found := cause.PodNetwork{}
		if a.PodNetwork != nil {
			found = *a.PodNetwork
		}
		if err != nil || found != test.want {
			t.Errorf("%s: %+v, %v, want %+v", name, found, err, test.want)
		}
	}
}
