package kube

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"
)

// issuing is a cluster that gives tokens with the claims of Kubernetes, and
// names and UIDs to Secrets. What an API server makes of such tokens is tested
// with a real one (package target).
func issuing() *Cluster {
	client := fake.NewClientset()
	made := 0
	client.PrependReactor("create", "secrets", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		secret := a.(clientgotesting.CreateAction).GetObject().(*corev1.Secret)
		made++
		secret.Name, secret.UID = fmt.Sprintf("%s%d", secret.GenerateName, made), types.UID(fmt.Sprint("uid-", made))
		return false, nil, nil
	})
	client.PrependReactor("create", "serviceaccounts", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		request, ok := a.(clientgotesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
		if !ok {
			return false, nil, nil
		}
		bound := request.Spec.BoundObjectRef
		claims := fmt.Sprintf(`{"exp": %d, "kubernetes.io": {"secret": {"name": %q, "uid": %q}}}`, time.Now().Unix()+*request.Spec.ExpirationSeconds, bound.Name, bound.UID)
		request.Status.Token = "h." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".s"
		return true, request, nil
	})
	return &Cluster{Typed: client}
}

func TestTokensAreKeptRenewedAndRevoked(t *testing.T) {
	t.Parallel()
	c := issuing()
	a := Account{Namespace: "kube-system", Name: "access", ClusterRole: "view", Lifetime: time.Hour}
	token := func(a Account, old string) string {
		t.Helper()
		got, err := c.Token(t.Context(), a, old)
		if err == nil {
			err = c.RevokeTokens(t.Context(), a, got)
		}
		if err != nil {
			t.Fatal(err)
		}
		anchors, err := c.Typed.CoreV1().Secrets(a.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(anchors.Items) != 1 || string(anchors.Items[0].UID) != claimsOf(got).Kubernetes.Secret.UID {
			t.Fatalf("tokens are bound to %v (%v), this one to %q", anchors.Items, err, claimsOf(got).Kubernetes.Secret.Name)
		}
		return got
	}
	first := token(a, "")
	if token(a, first) != first {
		t.Error("a token that lasts is replaced")
	}
	long := a
	long.Lifetime = 4 * time.Hour
	second := token(long, first)
	if second == first {
		t.Error("a token with less than a third of its time is kept")
	}
	if token(long, first) == first {
		t.Error("a revoked token is kept")
	}
	for _, old := range []string{"", "x", "a.b.c", "a." + base64.RawURLEncoding.EncodeToString([]byte("{}")) + ".c"} {
		if token(long, old) == old {
			t.Errorf("%q is taken for a token", old)
		}
	}
	other := long
	other.ClusterRole = "edit"
	token(other, "")
	binding, err := c.Typed.RbacV1().ClusterRoleBindings().Get(t.Context(), "kube-system:access", metav1.GetOptions{})
	if err != nil || binding.RoleRef.Name != "edit" || len(binding.Subjects) != 1 || binding.Subjects[0].Name != "access" || binding.Subjects[0].Namespace != "kube-system" {
		t.Errorf("bound as %+v (%v)", binding, err)
	}
	if err := c.RevokeTokens(t.Context(), a, ""); err != nil {
		t.Fatal(err)
	}
	if left, err := c.Typed.CoreV1().Secrets(a.Namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) != 0 {
		t.Errorf("left of revoked tokens: %v (%v)", left.Items, err)
	}
}

// TestAnAccountIsRemoved with all that it could log in with, and twice.
func TestAnAccountIsRemoved(t *testing.T) {
	t.Parallel()
	c := issuing()
	a := Account{Namespace: "kube-system", Name: "access", ClusterRole: "view", Lifetime: time.Hour}
	if _, err := c.Token(t.Context(), a, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.RemoveAccount(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		secrets, err := c.Typed.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
		accounts, noAccounts := c.Typed.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})
		roles, noRoles := c.Typed.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
		if err := errors.Join(err, noAccounts, noRoles); err != nil || len(secrets.Items)+len(accounts.Items)+len(roles.Items) != 0 {
			t.Errorf("left: %v, %v, %v (%v)", secrets.Items, accounts.Items, roles.Items, err)
		}
	}
}
