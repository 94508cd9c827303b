package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// rotating is a pass over a cluster with a credential that superseded others, for so long.
func rotating(since time.Duration, superseded ...string) (*pass, *fakeRevoker) {
	p, revoker := wellPass(), &fakeRevoker{}
	p.Revoker = revoker
	p.cluster.Spec.Credential = v1alpha1.Credential{ApplicationCredentialID: "now", UserID: "user"}
	for _, id := range superseded {
		p.cluster.Spec.Credential.Superseded = append(p.cluster.Spec.Credential.Superseded, v1alpha1.SupersededCredential{ID: id, UserID: "user"})
	}
	p.cluster.Status.CredentialID, p.cluster.Status.CredentialChangedAt = "now", &metav1.Time{Time: p.now.Add(-since)}
	return p, revoker
}

// TestPodsAreRestartedForACredential in the middle of the overlap: after the cluster has the new one, and before
// the old one ends. Until then they stay as the rotation before left them.
func TestPodsAreRestartedForACredential(t *testing.T) {
	t.Parallel()
	foreign := &v1alpha1.ReleaseStatus{Foreign: true}
	for name, test := range map[string]struct {
		since      time.Duration
		superseded []string
		has        string
		release    *v1alpha1.ReleaseStatus
		upgrading  bool
		want       string
	}{
		"never rotated":                    {time.Hour, nil, "now", nil, false, ""},
		"in time":                          {time.Hour, []string{"a"}, "now", nil, false, "now"},
		"just in time":                     {5 * time.Minute, []string{"a"}, "now", &v1alpha1.ReleaseStatus{}, false, "now"},
		"too early":                        {4 * time.Minute, []string{"a"}, "now", nil, false, ""},
		"too early, the second time":       {4 * time.Minute, []string{"a", "b"}, "now", nil, false, "b"},
		"the Secret has it not":            {time.Hour, []string{"a"}, "a", nil, false, ""},
		"another's release":                {time.Hour, []string{"a"}, "now", foreign, false, ""},
		"another's release, in an upgrade": {time.Hour, []string{"a"}, "now", foreign, true, "now"},
	} {
		p, _ := rotating(test.since, test.superseded...)
		p.cluster.Status.CredentialID, p.cluster.Status.Release, p.upgrading = test.has, test.release, test.upgrading
		if got := p.restartFor(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestFormerCredentialsAreRevoked after the overlap, once, when the addons have the new one.
func TestFormerCredentialsAreRevoked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		since   time.Duration
		change  func(*pass)
		revoked []string
		again   time.Duration
	}{
		"after the overlap":          {time.Hour, func(*pass) {}, []string{"user/a", "user/b"}, 0},
		"just then":                  {10 * time.Minute, func(*pass) {}, []string{"user/a", "user/b"}, 0},
		"before half of it":          {3 * time.Minute, func(*pass) {}, nil, 2 * time.Minute},
		"before its end":             {7 * time.Minute, func(*pass) {}, nil, 3 * time.Minute},
		"addons are behind":          {time.Hour, func(p *pass) { p.state.Addons = false }, nil, 0},
		"there is no cluster":        {time.Hour, func(p *pass) { p.state.Addons, p.state.Exists = false, false }, []string{"user/a", "user/b"}, 0},
		"one was revoked before":     {time.Hour, func(p *pass) { p.cluster.Status.RevokedCredentials = []string{"x", "a"} }, []string{"user/b"}, 0},
		"one is still in the Secret": {time.Hour, func(p *pass) { p.cluster.Status.CredentialID = "b" }, []string{"user/a"}, 0},
	} {
		p, revoker := rotating(test.since, "a", "b")
		test.change(p)
		p.revokeSuperseded(t.Context())
		if !slices.Equal(revoker.revoked, test.revoked) || p.again != test.again {
			t.Errorf("%s: revoked %v, looks again after %s", name, revoker.revoked, p.again)
		}
		if slices.Contains(p.cluster.Status.RevokedCredentials, "x") {
			t.Errorf("%s: it remembers what nobody asks for: %v", name, p.cluster.Status.RevokedCredentials)
		}
	}
}

// TestACredentialThatStaysValidIsTold: what another try may revoke is tried again, each by itself.
func TestACredentialThatStaysValidIsTold(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]time.Duration{"Keystone is down": longestPause, "no administrator login": 0} {
		h := start(t)
		p, revoker := rotating(time.Hour, "a", "b")
		if p.events, revoker.err = h.events, errors.New("Keystone is down"); again == 0 {
			p.Revoker = nil
		}
		p.revokeSuperseded(t.Context())
		for _, id := range []string{"a", "b"} {
			if event := <-h.events.Events; !strings.Contains(event, "Warning CredentialLeft application credential "+id+" is still valid") || !strings.Contains(event, name) {
				t.Errorf("%s: event %q", name, event)
			}
		}
		if len(p.cluster.Status.RevokedCredentials) > 0 || p.again != again || !meta.IsStatusConditionTrue(p.cluster.Status.Conditions, v1alpha1.ConditionCredential) {
			t.Errorf("%s: %+v, again after %s", name, p.cluster.Status, p.again)
		}
		if left := p.revokeAll(t.Context()); left != (again > 0) || (p.trouble != nil) != left {
			t.Errorf("%s: left %t, %+v", name, left, p.trouble)
		}
	}
	p, revoker := rotating(0, "a", "b", "")
	p.cluster.Status.RevokedCredentials = []string{"a"}
	if left := p.revokeAll(t.Context()); left || !slices.Equal(revoker.revoked, []string{"user/b", "user/now"}) || p.trouble != nil {
		t.Errorf("revoked %v, left %t", revoker.revoked, left)
	}
}

// TestTheLoginOfASecret is that of the cloud "openstack"; what is no YAML has none, and its words are told nobody.
func TestTheLoginOfASecret(t *testing.T) {
	t.Parallel()
	of := func(text string) login {
		return loginOf(&corev1.Secret{Data: map[string][]byte{"clouds.yaml": []byte(text)}})
	}
	if got := loginOf(secret("cred-1")); got != (login{"https://k/v3", "cred-1"}) || authURL(secret("x")) != "https://k/v3" {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "clouds: {other: {auth: {auth_url: x}}}", "clouds: {openstack: {auth: {auth_url: x}}", "clouds: {openstack: {auth: {auth_url: x, application_credential_id: [1]}}}"} {
		if got := of(text); got != (login{}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
