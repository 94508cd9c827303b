package target

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// may asks the API server, with a kubeconfig, whether its user may delete nodes.
func may(t *testing.T, kubeconfig []byte) (bool, error) {
	t.Helper()
	login, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if login.BearerToken == "" || len(login.CertData)+len(login.KeyData) > 0 || login.CertFile+login.KeyFile != "" {
		t.Fatalf("the user is not one of a token alone: %+v", login)
	}
	client, err := kubernetes.NewForConfig(login)
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// TestTheUserIsATokenAlone wants nothing of the administrator's in the file.
func TestTheUserIsATokenAlone(t *testing.T) {
	t.Parallel()
	const administrator = `
apiVersion: v1
kind: Config
current-context: admin@c
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443", certificate-authority-data: UEVN}}]
contexts: [{name: admin@c, context: {cluster: c, user: admin}}, {name: other, context: {cluster: c, user: other}}]
users: [{name: admin, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}, {name: other, user: {password: x}}]
`
	text, err := withToken(administrator, "a.b.c")
	if err != nil {
		t.Fatal(err)
	}
	login, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
	if err != nil || login.Host != "https://192.0.2.1:6443" || string(login.CAData) != "PEM" || login.BearerToken != "a.b.c" || strings.Contains(text, "client-") || strings.Contains(text, "other") {
		t.Errorf("%v:\n%s", err, text)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil || tokenIn(path) != "a.b.c" || tokenIn(path+"x") != "" {
		t.Errorf("%v; read again: %q", err, tokenIn(path))
	}
}

// TestATokenThatIsNotRevokedKeepsItsFile: the file is how the next run knows that there is a
// token to revoke.
func TestATokenThatIsNotRevokedKeepsItsFile(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer away.Close()
	cluster, err := kube.New(&rest.Config{Host: away.URL})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "token.kubeconfig")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeToken(t.Context(), cluster, "", path, nil, false); err == nil {
		t.Error("a token that is not revoked is no error")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file: %v", err)
	}
}

// proves: F38
func TestTheTokenKubeconfigIsRenewedAndRevoked(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "token.kubeconfig")
	write := func(role string, lifetime time.Duration, rotate bool) []byte {
		t.Helper()
		wanted := &config.TokenKubeconfig{ClusterRole: role, Lifetime: config.Duration(lifetime)}
		if err := writeToken(t.Context(), cluster, string(server.Kubeconfig), path, wanted, rotate); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	refused := func(what string, kubeconfig []byte) {
		t.Helper()
		var err error
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) { // it remembers tokens for a while
			if _, err = may(t, kubeconfig); apierrors.IsUnauthorized(err) {
				return
			}
		}
		t.Errorf("%s: the API server says %v", what, err)
	}

	first := write("cluster-admin", time.Hour, false)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if allowed, err := may(t, first); err != nil || !allowed {
		t.Errorf("an administrator may not delete nodes: %v, %v", allowed, err)
	}
	if again := write("cluster-admin", time.Hour, false); string(again) != string(first) {
		t.Error("a token that lasts is replaced")
	}
	if allowed, err := may(t, write("view", time.Hour, false)); err != nil || allowed {
		t.Errorf("with the role view it may delete nodes: %v, %v", allowed, err)
	}
	// An hour is less than a third of four: it is renewed before it ends.
	renewed := write("cluster-admin", 4*time.Hour, false)
	if allowed, err := may(t, renewed); err != nil || !allowed || string(renewed) == string(first) {
		t.Errorf("the renewed one: %v, %v", allowed, err)
	}
	refused("after it was renewed", first)
	rotated := write("cluster-admin", 4*time.Hour, true)
	if allowed, err := may(t, rotated); err != nil || !allowed {
		t.Errorf("the rotated one: %v, %v", allowed, err)
	}
	refused("after it was rotated", renewed)

	if err := writeToken(t.Context(), cluster, string(server.Kubeconfig), path, nil, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file when it is no longer wanted: %v", err)
	}
	refused("when it is no longer wanted", rotated)
}
