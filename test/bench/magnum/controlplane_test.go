package magnum

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
)

// controlPlane starts the API server and etcd of the bundle, as management
// clusters run them; etcd writes to the disk before it answers.
func controlPlane(t *testing.T) *envtest.Environment {
	t.Helper()
	log.SetLogger(logr.Discard())
	plane := &envtest.Environment{}
	plane.ControlPlane.GetAPIServer().Path = bound(t, bundletest.Program(t, "kube-apiserver", "kube-apiserver"))
	plane.ControlPlane.Etcd = &envtest.Etcd{Path: bound(t, bundletest.Program(t, "etcd", "etcd"))}
	plane.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "false")
	if _, err := plane.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	return plane
}

// asPod is a kubeconfig by which a program talks to the API server as a pod does,
// with the token of a service account: envtest's own has a client certificate,
// which the API server verifies anew for each request.
func asPod(t *testing.T, plane *envtest.Environment, kube client.Client) []byte {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "slipway"}}
	admin := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "slipway"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}}
	// Not for the hour that is the default: a bench of a thousand clusters lasts longer.
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(24 * 60 * 60))}}
	for _, do := range []func() error{
		func() error { return kube.Create(t.Context(), account) },
		func() error { return kube.Create(t.Context(), admin) },
		func() error { return kube.SubResource("token").Create(t.Context(), account, token) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(clientcmdapi.Config{CurrentContext: "slipway",
		Clusters:  []clientcmdapi.NamedCluster{{Name: "slipway", Cluster: clientcmdapi.Cluster{Server: plane.Config.Host, CertificateAuthorityData: plane.Config.CAData}}},
		AuthInfos: []clientcmdapi.NamedAuthInfo{{Name: "slipway", AuthInfo: clientcmdapi.AuthInfo{Token: token.Status.Token}}},
		Contexts:  []clientcmdapi.NamedContext{{Name: "slipway", Context: clientcmdapi.Context{Cluster: "slipway", AuthInfo: "slipway"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// bound is a program that ends with the test's process, also when that is
// killed; envtest cannot ask for it.
func bound(t *testing.T, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bound")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nexec setpriv --pdeathsig KILL '%s' \"$@\"\n", program), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
