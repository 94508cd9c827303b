package controller

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// cloudAuthority is a CA certificate in PEM.
func cloudAuthority(t *testing.T, name string) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// authorities are those in the cluster's Secret.
func (h *harness) authorities() string {
	h.t.Helper()
	secret := &corev1.Secret{}
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: stack + "-cloud-credentials"}, secret); err != nil {
		h.t.Fatal(err)
	}
	return string(secret.Data["cacert"])
}

// trust is the reason of the condition, and what pods were restarted for.
func (h *harness) trust() (reason, restarted string) {
	h.t.Helper()
	if c := meta.FindStatusCondition(h.cluster().Status.Conditions, v1alpha1.ConditionCloudCA); c != nil {
		reason = c.Reason
	}
	addons := h.releases.last.Config["addons"].(map[string]any)["openstack"].(map[string]any)
	ccm, _ := addons["ccm"].(map[string]any)
	values, _ := ccm["values"].(map[string]any)
	annotations, _ := values["podAnnotations"].(map[string]any)
	restarted, _ = annotations[v1alpha1.Group+"/credential"].(string)
	return reason, restarted
}

// TestACloudsNewCAReachesClusters: first the Secret has it, then, when the cluster has had the time to
// get it, pods are restarted, once. The same happens for each further change.
func TestACloudsNewCAReachesClusters(t *testing.T) {
	t.Parallel()
	older, newer := cloudAuthority(t, "older"), cloudAuthority(t, "newer")
	h := ready(t)
	h.r.CloudCA = []byte(older)
	h.pass()
	if h.authorities() != older {
		t.Fatal("the Secret does not have the certificates")
	}
	// Certificates that a cluster lacked are news to its pods.
	if reason, restarted := h.trust(); reason != "Distributing" || restarted != "" {
		t.Errorf("%s, restarted for %q", reason, restarted)
	}
	h.clock = h.clock.Add(5*time.Minute + time.Second)
	h.pass()
	h.settle()
	h.pass()
	_, first := h.trust()
	if reason, _ := h.trust(); reason != "AsWanted" || first == "" {
		t.Errorf("%s, restarted for %q", reason, first)
	}

	h.r.CloudCA = []byte(older + newer)
	if again := h.pass().RequeueAfter; again <= 0 || again > 5*time.Minute {
		t.Errorf("looks again after %s", again)
	}
	if reason, restarted := h.trust(); h.authorities() != older+newer || reason != "Distributing" || restarted != first {
		t.Errorf("%s, restarted for %q", reason, restarted)
	}
	h.clock = h.clock.Add(5*time.Minute + time.Second)
	h.pass()
	h.settle()
	h.pass()
	reason, second := h.trust()
	if reason != "AsWanted" || second == "" || second == first {
		t.Errorf("%s, restarted for %q", reason, second)
	}
	h.phases(v1alpha1.CreateComplete, "default-master", "CREATE_COMPLETE", "default-worker", "CREATE_COMPLETE")
	ensured := h.releases.ensured
	h.clock = h.clock.Add(time.Hour)
	h.restart()
	h.r.CloudCA = []byte(newer + "\n" + older) // the same in another order
	h.pass()
	if h.releases.ensured != ensured || h.authorities() != older+newer {
		t.Error("the same certificates changed something")
	}
}

// TestClustersThatHaveTheCAKeepTheirPods: a cluster that was created with the certificates is not changed.
func TestClustersThatHaveTheCAKeepTheirPods(t *testing.T) {
	t.Parallel()
	authority := cloudAuthority(t, "cloud")
	h := ready(t)
	h.setAuthorities("# the cloud's\n" + authority)
	h.r.CloudCA = []byte(authority)
	h.pass()
	h.clock = h.clock.Add(time.Hour)
	h.pass()
	if reason, restarted := h.trust(); reason != "AsWanted" || restarted != "" || h.authorities() != "# the cloud's\n"+authority {
		t.Errorf("%s, restarted for %q, Secret has\n%s", reason, restarted, h.authorities())
	}
}

func (h *harness) setAuthorities(text string) {
	h.t.Helper()
	secret := &corev1.Secret{}
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: stack + "-cloud-credentials"}, secret); err != nil {
		h.t.Fatal(err)
	}
	secret.Data["cacert"] = []byte(text)
	h.update(secret)
}

// TestOwnCredentialsKeepTheirCA: who brought the Secret knows how it trusts the cloud.
func TestOwnCredentialsKeepTheirCA(t *testing.T) {
	t.Parallel()
	h := ready(t, func(c *v1alpha1.Cluster) { c.Spec.Credential = v1alpha1.Credential{} })
	h.r.CloudCA = []byte(cloudAuthority(t, "cloud"))
	h.pass()
	if reason, _ := h.trust(); reason != "" || h.authorities() != "" {
		t.Errorf("%s, Secret has %q", reason, h.authorities())
	}
}

// TestAChangeOfTheCAThatEndsHalfway: the Secret was written, the status was not. The next pass knows from the
// Secret that pods have to be restarted, and since when.
func TestAChangeOfTheCAThatEndsHalfway(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.r.CloudCA = []byte(cloudAuthority(t, "cloud"))
	h.intercept(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return errors.New("the API server is away")
	}})
	if _, err := h.reconcile(); err == nil || h.authorities() == "" || h.cluster().Status.CloudCA != nil {
		t.Fatalf("the pass ended with %v, status %v", err, h.cluster().Status.CloudCA)
	}
	h.clock = h.clock.Add(3 * time.Minute)
	authority := h.r.CloudCA
	h.restart()
	h.r.CloudCA = authority
	if again := h.pass().RequeueAfter; again > 2*time.Minute {
		t.Errorf("looks again after %s", again)
	}
	if reason, _ := h.trust(); reason != "Distributing" {
		t.Error(reason)
	}
}

// TestARotationBringsTheCABack: the endpoint's older replica wrote the Secret with the certificates of before.
func TestARotationBringsTheCABack(t *testing.T) {
	t.Parallel()
	authority := cloudAuthority(t, "cloud")
	h := ready(t)
	h.setAuthorities(authority)
	h.r.CloudCA = []byte(authority)
	h.pass()
	h.setAuthorities(cloudAuthority(t, "before"))
	h.pass()
	if h.authorities() == authority {
		t.Error("the Secret is read in each pass")
	}
	h.edit(func(c *v1alpha1.Cluster) {
		c.Spec.Credential.ApplicationCredentialID = "cred-2"
		c.Spec.Credential.Superseded = []v1alpha1.SupersededCredential{{ID: "cred-1", UserID: "user"}}
	})
	h.pass()
	if h.authorities() != authority {
		t.Error("the Secret has other certificates")
	}
}

// TestWhatIsSaidOfTheCA in conditions.
func TestWhatIsSaidOfTheCA(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *metav1.Time {
		return &metav1.Time{Time: wellPass().now.Add(-d)}
	}
	was := func(status metav1.ConditionStatus) func(*pass) {
		return func(p *pass) {
			meta.SetStatusCondition(&p.cluster.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionCloudCA, Status: status, Reason: "X"})
		}
	}
	noAddons := func(p *pass) { p.state.Addons = false }
	foreign := func(p *pass) { p.cluster.Status.Release = &v1alpha1.ReleaseStatus{Foreign: true} }
	for name, test := range map[string]struct {
		status v1alpha1.CloudCAStatus
		change []func(*pass)
		want   string
	}{
		"never changed":                    {v1alpha1.CloudCAStatus{Digest: "a"}, []func(*pass){noAddons}, "AsWanted"},
		"changed":                          {v1alpha1.CloudCAStatus{Digest: "a", ChangedAt: ago(time.Minute)}, nil, "Distributing"},
		"changed, of another program":      {v1alpha1.CloudCAStatus{Digest: "a", ChangedAt: ago(time.Hour)}, []func(*pass){foreign}, "NotRestarted"},
		"changed, it is being upgraded":    {v1alpha1.CloudCAStatus{Digest: "a", ChangedAt: ago(time.Minute)}, []func(*pass){foreign, func(p *pass) { p.upgrading = true }}, "Distributing"},
		"restarting":                       {v1alpha1.CloudCAStatus{Digest: "a", ChangedAt: ago(time.Hour), RestartedFor: "a"}, []func(*pass){was("False"), noAddons}, "Restarting"},
		"it cannot be restarted":           {v1alpha1.CloudCAStatus{Digest: "a", ChangedAt: ago(time.Hour), RestartedFor: "a"}, []func(*pass){was("False"), func(p *pass) { p.stay(errors.New("Helm"), false) }}, "Restarting"},
		"restarted":                        {v1alpha1.CloudCAStatus{Digest: "a", ChangedAt: ago(time.Hour), RestartedFor: "a"}, []func(*pass){was("False")}, "AsWanted"},
		"restarted, addons failed later":   {v1alpha1.CloudCAStatus{Digest: "a", ChangedAt: ago(time.Hour), RestartedFor: "a"}, []func(*pass){was("True"), noAddons}, "AsWanted"},
		"restarted, and changed once more": {v1alpha1.CloudCAStatus{Digest: "b", ChangedAt: ago(time.Minute), RestartedFor: "a"}, []func(*pass){was("True")}, "Distributing"},
	} {
		p := wellPass()
		p.cluster.Status.CloudCA = &test.status
		for _, f := range test.change {
			f(p)
		}
		p.cloudCACondition()
		if got := meta.FindStatusCondition(p.cluster.Status.Conditions, v1alpha1.ConditionCloudCA); got.Reason != test.want || (got.Status == "True") != (test.want == "AsWanted") || (got.Message == "") != (got.Status == "True") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOnlyCertificatesAreDistributed: tenants can read all that is in their Secrets.
func TestOnlyCertificatesAreDistributed(t *testing.T) {
	t.Parallel()
	one := cloudAuthority(t, "one")
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret")}))
	for name, test := range map[string]struct{ text, want, err string }{
		"certificates":      {"# cloud\n" + one + "\n" + one, one + one, ""},
		"a key beside them": {key + one, one, ""},
		"a key alone":       {key, "", "not contain any valid"},
		"nothing":           {"", "", "not contain any valid"},
		"none that is one":  {string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), "", "malformed certificate"},
	} {
		got, err := CloudCA([]byte(test.text))
		if string(got) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	two := cloudAuthority(t, "two")
	if a, b := certificatesDigest([]byte(one+two)), certificatesDigest([]byte("x\n"+two+"y\n"+one+one)); a != b || slices.Contains([]string{"", certificatesDigest([]byte(one))}, a) {
		t.Errorf("digests %q and %q", a, b)
	}
}

// trusted gives the cluster a credential of the endpoint: its Secret gets the CA certificates of the cloud,
// and the real chart restarts what reads them.
func (m *management) trusted(t *testing.T) {
	made := secret("cred-1")
	if err := m.client.Update(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	c := m.phase(v1alpha1.UpdateComplete)
	before := c.DeepCopy()
	c.Spec.Credential = v1alpha1.Credential{ApplicationCredentialID: "cred-1", UserID: "user"}
	if err := m.client.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	m.until("the certificates", func() bool {
		err := m.client.Get(t.Context(), client.ObjectKeyFromObject(made), made)
		return err == nil && string(made.Data["cacert"]) == m.authority
	})
	m.until("the restart", func() bool {
		m.addons("Deployed")
		err := m.client.Get(t.Context(), client.ObjectKeyFromObject(c), c)
		return err == nil && meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionCloudCA)
	})
	values := &corev1.SecretList{}
	if err := m.client.List(t.Context(), values, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var restarted []string
	for _, s := range values.Items {
		name, is := strings.CutSuffix(strings.TrimPrefix(s.Name, stack+"-"), "-config")
		for _, text := range s.Data {
			if is && strings.Contains(string(text), v1alpha1.Group+"/credential") {
				restarted = append(restarted, name)
			}
		}
	}
	if slices.Sort(restarted); !slices.Equal(restarted, []string{"ccm-openstack", "csi-cinder"}) {
		t.Errorf("restarted: %v", restarted)
	}
}
