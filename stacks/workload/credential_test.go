package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// TestTheCredentialIsInItsSecretAndFoundAgain without a Kubernetes of substance.
//
// proves: S-27
func TestTheCredentialIsInItsSecretAndFoundAgain(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	m := &Management{Environment: "prod", Kube: &kube.Cluster{Typed: fake.NewClientset()}}
	key := Key{Namespace: "c1", Name: "c1"}
	ensure := func(want bool) []string {
		t.Helper()
		if changed, err := m.ensureCredential(t.Context(), c, key); err != nil || changed != want {
			t.Fatalf("changed %t, %v", changed, err)
		}
		return credentialsOf(t, box, c, "c1")
	}
	first := ensure(true)
	if again := ensure(false); len(first) != 1 || !slices.Equal(again, first) {
		t.Errorf("credentials %v, then %v", first, again)
	}
	one, err := applicationcredentials.Get(t.Context(), box.Member.Identity(t), c.UserID, first[0]).Extract()
	if err != nil || len(one.Roles) != 1 || one.Roles[0].Name != "member" || !one.ExpiresAt.IsZero() {
		t.Errorf("the credential is %+v, %v", one, err)
	}
	if mark, ok := ownership.FromDescription(one.Description); !ok || mark.Environment != "prod" || !strings.HasPrefix(mark.Step, "cluster-c1-") {
		t.Errorf("it is described as %q", one.Description)
	}
	// The environment's inventory has it, so that it goes with the environment.
	things, err := openstack.Inventory{Clients: c.Clients, UserID: c.UserID}.List(t.Context(), "prod")
	if err != nil || len(things) != 1 || things[0].ID != first[0] {
		t.Errorf("the inventory has %v, %v", things, err)
	}
	// Of a cluster of the same name elsewhere it is another.
	if changed, err := m.ensureCredential(t.Context(), c, Key{Namespace: "other", Name: "c1"}); err != nil || !changed {
		t.Errorf("elsewhere: %t, %v", changed, err)
	}
	if all := credentialsOf(t, box, c, "c1"); len(all) != 2 {
		t.Errorf("credentials %v", all)
	}
	// A run was killed before it wrote the Secret: its credential is of no use.
	secrets := m.Kube.Typed.CoreV1().Secrets("c1")
	if err := secrets.Delete(t.Context(), SecretName("c1"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if all := ensure(true); len(all) != 2 || slices.Contains(all, first[0]) {
		t.Errorf("credentials %v, before %v", all, first)
	}
	if notes, err := m.revoke(t.Context(), c, key, func(string) {}); err != nil || len(notes) > 0 {
		t.Errorf("revoked: %v, %v", notes, err)
	}
	if all := credentialsOf(t, box, c, "c1"); len(all) != 1 {
		t.Errorf("credentials %v", all)
	}
}

// TestOfTwoRunsOneMakesTheCredential: the other one, which finds the Secret written meanwhile,
// takes its own back and leaves that in the Secret alone.
func TestOfTwoRunsOneMakesTheCredential(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	client := fake.NewClientset()
	m := &Management{Environment: "prod", Kube: &kube.Cluster{Typed: client}}
	key := Key{Namespace: "c1", Name: "c1"}
	data, err := m.issue(t.Context(), c, key)
	if err != nil {
		t.Fatal(err)
	}
	first := c.secret(key, data)
	client.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return false, nil, client.Tracker().Create(corev1.SchemeGroupVersion.WithResource("secrets"), first, key.Namespace)
	})
	_, err = m.ensureCredential(t.Context(), c, key)
	if err == nil || !strings.Contains(err.Error(), "another run makes it at the same time") || !strings.Contains(fault.Remedy(err), "run the same command again") {
		t.Errorf("the second run: %v (%s)", err, fault.Remedy(err))
	}
	if works, err := c.works(t.Context(), first); err != nil || !works {
		t.Errorf("the first run's credential logs in: %t, %v", works, err)
	}
	if ids := credentialsOf(t, box, c, "c1"); !slices.Equal(ids, idsIn(first)) {
		t.Errorf("credentials %v, in the Secret %v", ids, idsIn(first))
	}
	if changed, err := m.ensureCredential(t.Context(), c, key); err != nil || changed {
		t.Errorf("the second run again: %t, %v", changed, err)
	}
}

// TestAnAuthorityIsBesideTheCredential, and what is no clouds.yaml is made anew.
func TestAnAuthorityIsBesideTheCredential(t *testing.T) {
	t.Parallel()
	_, c := openCloud(t)
	c.Login.Authority = "PEM"
	m := &Management{Environment: "prod"}
	data, err := m.issue(t.Context(), c, Key{Namespace: "c1", Name: "c1"})
	if err != nil || string(data["cacert"]) != "PEM" || idIn(data["clouds.yaml"]) == "" || !strings.Contains(string(data["clouds.yaml"]), "application_credential_secret: ") || len(data) != 2 {
		t.Errorf("%v: %v", err, data)
	}
	for name, text := range map[string]string{"nothing": "", "no YAML": "{", "no cloud": "clouds: {}", "another's": "clouds: {openstack: {auth_type: v3applicationcredential, auth: {auth_url: " + c.Login.AuthURL + ", application_credential_id: x, application_credential_secret: y}}}"} {
		if works, err := c.works(t.Context(), &corev1.Secret{Data: map[string][]byte{"clouds.yaml": []byte(text)}}); err != nil || works {
			t.Errorf("%s: %t, %v", name, works, err)
		}
	}
	unreachable := []byte("clouds: {openstack: {auth_type: v3applicationcredential, auth: {auth_url: 'http://127.0.0.1:1', application_credential_id: x, application_credential_secret: y}}}")
	if _, err := c.works(t.Context(), &corev1.Secret{Data: map[string][]byte{"clouds.yaml": unreachable}}); err == nil || strings.Contains(err.Error(), "secret: y") {
		t.Errorf("a cloud that does not answer: %v", err)
	}
}
