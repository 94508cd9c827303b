package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// request is one operation of the API on what the project shop has.
type request struct {
	method, path string
	body         any
}

// requests are all operations that the router knows, on a cluster and a
// template. A pattern that is not known here ends the test: a new route is asked
// for by everybody who may not.
func (b *bench) requests(template, cluster string) []request {
	b.t.Helper()
	paths := []struct{ pattern, path string }{
		{"clustertemplates/{ident}", "clustertemplates/" + template}, {"clusters/{ident}", "clusters/" + cluster}, {"clusters/{cluster}", "clusters/" + cluster},
		{"nodegroups/{ident}", "nodegroups/default-worker"}, {"nodegroups/{group}", "nodegroups/default-worker"}, {"certificates/{cluster}", "certificates/" + cluster},
		{"{type}", "kubernetes"}, {"credentials/{cluster}", "credentials/" + cluster}, {"quotas/{project}/{resource}", "quotas/" + b.project + "/Cluster"}, {"federations/{ident}", "federations/x"}}
	bodies := map[string]any{
		"POST clusters": object{"name": "taken", "cluster_template_id": template}, "POST clustertemplates": templateBody().over("flavor_id", "none"),
		"POST certificates": object{"cluster_uuid": cluster, "csr": b.csr(b.ecKey(), 0)}, "resize": object{"node_count": 5}, "upgrade": object{"cluster_template": template},
		"nodegroups": object{"name": "more"}, "quotas": object{"project_id": b.project, "resource": "Cluster", "hard_limit": 99}, "federations": object{}}
	var all []request
	for _, r := range allRoutes() {
		path := r.pattern
		for _, p := range paths {
			path = strings.Replace(path, p.pattern, p.path, 1)
		}
		if strings.Contains(path, "{") {
			b.t.Fatalf("the route %s has a part that this test does not know", r.pattern)
		}
		one := request{method: r.method, path: "/v1/" + path}
		switch body, ok := bodies[r.method+" "+r.pattern]; {
		case ok:
			one.body = body
		case r.method == http.MethodPost || r.method == http.MethodPatch && strings.HasPrefix(path, "quotas"):
			for name, body := range bodies {
				if strings.Contains(r.pattern, name) {
					one.body = body
				}
			}
		case r.method == http.MethodPatch && !strings.HasPrefix(path, "certificates") && !strings.HasPrefix(path, "credentials"):
			one.body = []object{patchOp("replace", "/name", "taken")}
		}
		all = append(all, one)
	}
	return all
}

// outsiders are those who have no part in the project shop, and those with less
// than a member's part: what they may read they may not change.
func (b *bench) outsiders() (strangers, without, readers map[string]string) {
	b.t.Helper()
	identity := b.cloud.Admin.Identity(b.t)
	domain, err := domains.Create(b.t.Context(), identity, domains.CreateOpts{Name: "elsewhere"}).Extract()
	b.must(err)
	project, err := projects.Create(b.t.Context(), identity, projects.CreateOpts{Name: "shop", DomainID: domain.ID}).Extract()
	b.must(err)
	user, err := users.Create(b.t.Context(), identity, users.CreateOpts{Name: member, Password: "secret", DomainID: domain.ID}).Extract()
	b.must(err)
	for _, role := range []string{"member"} {
		b.must(roles.Assign(b.t.Context(), identity, b.role(role), roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr())
		b.must(roles.Assign(b.t.Context(), identity, b.role(role), roles.AssignOpts{UserID: user.ID, DomainID: domain.ID}).ExtractErr())
	}
	login := func(scope *gophercloud.AuthScope) string {
		return b.cloud.Login(b.t, gophercloud.AuthOptions{Username: member, Password: "secret", DomainID: domain.ID, Scope: scope}).Provider.Token()
	}
	revoked := b.cloud.Login(b.t, sandboxtest.User(member, "secret", "shop"))
	b.must(tokens.Revoke(b.t.Context(), b.cloud.Admin.Identity(b.t), revoked.Provider.Token()).Err)
	strangers = map[string]string{
		"another project":                 b.logins[alien].Provider.Token(),
		"another domain, the same names":  login(&gophercloud.AuthScope{ProjectID: project.ID}),
		"another project's application":   b.loginBy(alien, true).Provider.Token(),
		"another project's restricted":    b.loginBy(alien, false).Provider.Token(),
		"a trust of somebody else's user": b.trust(alien, member, "member"),
	}
	without = map[string]string{
		"none": "", "no token": "x", "a revoked token": revoked.Provider.Token(), "part of a token": b.logins[member].Provider.Token()[:20],
		"a token and more": b.logins[member].Provider.Token() + "x", "a path": "../../v3/auth/tokens", "system scope": b.cloud.Login(b.t, systemScope(b)).Provider.Token(),
		"domain scope": login(&gophercloud.AuthScope{DomainID: domain.ID}), "no scope": login(nil),
	}
	readers = map[string]string{
		"a reader": b.logins[reader].Provider.Token(), "a reader's application": b.loginBy(reader, true).Provider.Token(),
		"a member's application of the role reader": b.applicationOf(member, "reader"), "a trust of the role reader": b.trust(member, alien, "reader"),
	}
	return strangers, without, readers
}

func (b *bench) role(name string) string {
	b.t.Helper()
	pages, err := roles.List(b.cloud.Admin.Identity(b.t), roles.ListOpts{Name: name}).AllPages(b.t.Context())
	b.must(err)
	all, err := roles.ExtractRoles(pages)
	b.must(err)
	return all[0].ID
}

// applicationOf logs in by an application credential of a caller with one role.
func (b *bench) applicationOf(who, role string) string {
	b.t.Helper()
	token, err := b.server.o.Tokens.Validate(b.t.Context(), b.logins[who].Provider.Token(), "")
	b.must(err)
	made, err := applicationcredentials.Create(b.t.Context(), b.logins[who].Identity(b.t), token.UserID,
		applicationcredentials.CreateOpts{Name: "only-" + role, Roles: []applicationcredentials.Role{{Name: role}}}).Extract()
	b.must(err)
	return b.cloud.Login(b.t, gophercloud.AuthOptions{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret}).Provider.Token()
}

// trust lets one caller act as another with a role on the other's project, and
// returns such a token.
func (b *bench) trust(trustor, trustee, role string) string {
	b.t.Helper()
	giver, err := b.server.o.Tokens.Validate(b.t.Context(), b.logins[trustor].Provider.Token(), "")
	b.must(err)
	taker, err := b.server.o.Tokens.Validate(b.t.Context(), b.logins[trustee].Provider.Token(), "")
	b.must(err)
	made, err := trusts.Create(b.t.Context(), b.logins[trustor].Identity(b.t), trusts.CreateOpts{Impersonation: true, ProjectID: giver.ProjectID,
		TrustorUserID: giver.UserID, TrusteeUserID: taker.UserID, Roles: []trusts.Role{{ID: b.role(role)}}}).Extract()
	b.must(err)
	return b.cloud.Login(b.t, gophercloud.AuthOptions{UserID: taker.UserID, Password: "secret", Scope: &gophercloud.AuthScope{TrustID: made.ID}}).Provider.Token()
}

// everything is the project's objects, and the Secrets, as the API server has
// them.
func (b *bench) everything() string {
	b.t.Helper()
	lists := []any{&v1alpha1.ClusterList{}, &v1alpha1.ClusterTemplateList{}, &v1alpha1.NodeGroupList{}, &v1alpha1.QuotaList{}}
	b.must(b.kube.List(b.t.Context(), lists[0].(*v1alpha1.ClusterList)))
	b.must(b.kube.List(b.t.Context(), lists[1].(*v1alpha1.ClusterTemplateList)))
	b.must(b.kube.List(b.t.Context(), lists[2].(*v1alpha1.NodeGroupList)))
	b.must(b.kube.List(b.t.Context(), lists[3].(*v1alpha1.QuotaList)))
	secrets := &corev1.SecretList{}
	b.must(b.kube.List(b.t.Context(), secrets))
	text, err := json.Marshal(append(lists, secrets))
	b.must(err)
	return string(text)
}

// Every route of the API, as everybody who must not get in by it: tokens of
// other projects and domains, of other scopes than a project, that are none, and
// those of readers on what changes something.
func TestOutsidersGetNowhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, uuid := b.ready()
	b.authorities(uuid)
	strangers, without, readers := b.outsiders()
	before := b.everything()
	ask := func(token string, r request) *answer {
		return b.do(nobody, r.method, r.path, r.body, "X-Auth-Token", token)
	}
	ours := regexp.MustCompile(template + "|" + uuid + "|" + b.project + "|shop-prod|BEGIN CERTIFICATE-")
	for _, r := range b.requests(template, uuid) {
		what := r.method + " " + r.path
		for who, token := range strangers {
			a := ask(token, r)
			body := a.text
			if a.status >= 400 { // errors repeat what was asked for
				body = ours.ReplaceAllStringFunc(body, func(found string) string {
					if asked, _ := json.Marshal(r.body); strings.Contains(r.path+string(asked), found) {
						return ""
					}
					return found
				})
			}
			if a.status == 401 || a.status >= 500 && a.status != 501 || ours.MatchString(body) || r.method != http.MethodGet && a.status < 400 {
				t.Errorf("%s, %s: %d %s", who, what, a.status, a.text)
			}
		}
		for who, token := range without {
			want := http.StatusUnauthorized
			if strings.HasSuffix(who, " scope") {
				want = http.StatusForbidden
			}
			if a := ask(token, r); a.status != want || ours.MatchString(a.text) {
				t.Errorf("%s, %s: %d %s", who, what, a.status, a.text)
			}
		}
		for who, token := range readers {
			if a := ask(token, r); r.method != http.MethodGet && a.status != http.StatusForbidden {
				t.Errorf("%s, %s: %d %s", who, what, a.status, a.text)
			}
		}
	}
	if after := b.everything(); after != before {
		t.Errorf("something was changed:\n%s\nwas\n%s", after, before)
	}
}

// A restricted application credential, and a token of a trust, may do what their
// roles say, and make no further credential: no cluster of theirs, and no
// cluster's credential of theirs.
func TestDelegatedTokensMakeNoCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, uuid := b.ready()
	tokens := map[string]string{"restricted application": b.loginBy(member, false).Provider.Token(), "trust": b.trust(member, alien, "member")}
	before, had := b.everything(), len(b.credentials(member))
	for who, token := range tokens {
		b.do(nobody, http.MethodGet, clusters+"/"+uuid, nil, "X-Auth-Token", token).want(200)
		for _, r := range []request{{"POST", clusters, object{"cluster_template_id": template}}, {"PATCH", "/v1/credentials/" + uuid, nil}} {
			if a := b.do(nobody, r.method, r.path, r.body, "X-Auth-Token", token); a.status != 403 {
				t.Errorf("%s: %s %s: %d %s", who, r.method, r.path, a.status, a.text)
			}
		}
	}
	if after := b.everything(); after != before || len(b.credentials(member)) != had {
		t.Errorf("something was made:\n%s", after)
	}
}
