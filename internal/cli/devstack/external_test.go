package devstack

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/kube"
)

// TestOnlyPodsOfThisHostAreLetIn has a cluster of two nodes, one of which is this host.
func TestOnlyPodsOfThisHostAreLetIn(t *testing.T) {
	t.Parallel()
	node := func(name, address string, networks ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: networks},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address}}}}
	}
	on := &kube.Cluster{Typed: fake.NewClientset(node("here", "192.0.2.7", "10.244.0.0/24", "fd00:10:244::/64"), node("there", "192.0.2.8", "10.244.1.0/24"))}
	var added []string
	err := openToExternal(t.Context(), on, "192.0.2.7", func(_ context.Context, program string, args ...string) (string, error) {
		if slices.Contains(args, "-C") {
			return "", errors.New("no such rule")
		}
		added = append(added, program+" "+strings.Join(args, " "))
		return "", nil
	})
	text := strings.Join(added, "\n")
	if err != nil || len(added) != 4 || strings.Contains(text, "10.244.1.0") || strings.Contains(text, "fd00") {
		t.Errorf("%v:\n%s", err, text)
	}
	if want := "iptables -w -t nat -I POSTROUTING -s 10.244.0.0/24 ! -d 10.244.0.0/24 -m comment --comment slipway-devstack -j MASQUERADE"; !slices.Contains(added, want) {
		t.Errorf("no %s in\n%s", want, text)
	}
}
