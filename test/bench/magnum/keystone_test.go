package magnum

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

// people are who call: users of a project with a role, and one of another.
type people struct {
	*bench
	keystone *gophercloud.ServiceClient
	roles    map[string]string
}

// TestRealKeystone tries what depends on Keystone: who may do what, tokens that
// are revoked, and application credentials.
func TestRealKeystone(t *testing.T) {
	b := newBench(t)
	b.serve("--token-cache-time", "1s")
	p := newPeople(b)
	b.login()
	cluster := b.make(1)
	project, other := p.projectOf("demo"), p.makeProject("devcloud-other")
	callers := map[string]string{
		"admin": p.tokenOf("devcloud-admin"), "member": b.token, "reader": p.user("devcloud-reader", "reader", project).Token(),
		"alien": p.user("devcloud-alien", "member", other).Token(), "wrong": "gAAAAABnothing", "nobody": "",
	}
	template := fmt.Sprintf(`{"name": "t", "coe": "kubernetes", "image_id": %q, "external_network_id": "public", "flavor_id": "m1.small", "master_flavor_id": "m1.small"}`, p.nodeImage())
	var made struct{ UUID string }
	if status, answer := p.answer("POST", "/clustertemplates", template, b.token); status != 201 || json.Unmarshal(answer, &made) != nil {
		t.Fatalf("a member's template: %d %s", status, answer)
	}
	for _, row := range []struct {
		method, path, body string
		want               map[string]int
	}{
		{"GET", "/clusters", "", map[string]int{"admin": 200, "member": 200, "reader": 200, "alien": 200, "wrong": 401, "nobody": 401}},
		{"GET", "/clusters/" + cluster, "", map[string]int{"admin": 200, "member": 200, "reader": 200, "alien": 404, "wrong": 401, "nobody": 401}},
		{"GET", "/clusters?all_tenants=1", "", map[string]int{"wrong": 401, "nobody": 401}},
		{"GET", "/mservices", "", map[string]int{"admin": 200, "member": 403, "reader": 403, "alien": 403, "nobody": 401}},
		{"DELETE", "/clusters/" + cluster, "", map[string]int{"alien": 404, "reader": 403, "wrong": 401, "nobody": 401}},
		// What is asked for is looked at before whether one may, as Magnum has it.
		{"POST", "/clustertemplates", "{}", map[string]int{"reader": 400, "member": 400, "wrong": 401, "nobody": 401}},
		{"POST", "/clustertemplates", template, map[string]int{"reader": 403, "wrong": 401, "nobody": 401}},
		{"POST", "/clusters", "{}", map[string]int{"reader": 400, "member": 400, "wrong": 401, "nobody": 401}},
		{"POST", "/clusters", fmt.Sprintf(`{"name": "c", "cluster_template_id": %q}`, made.UUID), map[string]int{"reader": 403, "wrong": 401, "nobody": 401}},
	} {
		for who, want := range row.want {
			if got := p.ask(row.method, row.path, row.body, callers[who]); got != want {
				t.Errorf("%s %s by %s: %d, want %d", row.method, row.path, who, got, want)
			}
		}
	}
	p.revoke(project)
	p.credential(project)
}

// newPeople logs in to Keystone as its administrator.
func newPeople(b *bench) *people {
	b.t.Helper()
	provider := b.provider("devcloud-admin")
	client, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	b.must(err)
	p := &people{bench: b, keystone: client, roles: map[string]string{}}
	pages, err := roles.List(client, nil).AllPages(b.t.Context())
	b.must(err)
	all, err := roles.ExtractRoles(pages)
	b.must(err)
	for _, r := range all {
		p.roles[r.Name] = r.ID
	}
	return p
}

// nodeImage makes an image of nodes in the project of the member, for as long as
// the test goes on.
func (p *people) nodeImage() string {
	p.t.Helper()
	client, err := openstack.NewImageV2(p.provider("devcloud"), gophercloud.EndpointOpts{})
	p.must(err)
	image, err := images.Create(p.t.Context(), client, images.CreateOpts{Name: "devcloud-node", DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2"}}).Extract()
	p.must(err)
	p.t.Cleanup(func() {
		p.clean(func(ctx context.Context) error { return images.Delete(ctx, client, image.ID).ExtractErr() })
	})
	return image.ID
}

// ask sends a request and returns the status.
func (p *people) ask(method, path, body, token string) int {
	p.t.Helper()
	status, _ := p.answer(method, path, body, token)
	return status
}

// answer is the status and the body.
func (p *people) answer(method, path, body, token string) (int, []byte) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.ours+path, strings.NewReader(body))
	p.must(err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	response, err := http.DefaultClient.Do(request)
	p.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	p.must(err)
	return response.StatusCode, text
}

// revoke revokes a token that has just been used: it is refused when the
// endpoint asks Keystone again, after the second for which it remembers.
func (p *people) revoke(project string) {
	p.t.Helper()
	user := p.user("devcloud-leaver", "member", project)
	token := user.Token()
	if got := p.ask("GET", "/clusters", "", token); got != 200 {
		p.t.Fatalf("before: %d", got)
	}
	p.must(tokens.Revoke(p.t.Context(), p.keystone, token).Err)
	p.await("the revoked token to be refused", func() bool { return p.ask("GET", "/clusters", "", token) == 401 })
}

// credential logs in by an application credential; its tokens end with it.
func (p *people) credential(project string) {
	p.t.Helper()
	owner := p.user("devcloud-robot", "member", project)
	identity, err := openstack.NewIdentityV3(owner, gophercloud.EndpointOpts{})
	p.must(err)
	who, err := tokens.Get(p.t.Context(), identity, owner.Token()).ExtractUser()
	p.must(err)
	made, err := applicationcredentials.Create(p.t.Context(), identity, who.ID, applicationcredentials.CreateOpts{Name: "devcloud"}).Extract()
	p.must(err)
	robot, err := openstack.AuthenticatedClient(p.t.Context(), gophercloud.AuthOptions{IdentityEndpoint: p.keystone.IdentityEndpoint,
		ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
	p.must(err)
	if got := p.ask("GET", "/clusters", "", robot.Token()); got != 200 {
		p.t.Fatalf("by an application credential: %d", got)
	}
	p.must(applicationcredentials.Delete(p.t.Context(), identity, who.ID, made.ID).ExtractErr())
	p.await("the token of a deleted credential to be refused", func() bool { return p.ask("GET", "/clusters", "", robot.Token()) == 401 })
}

// user makes a user with a role on a project, and logs in.
func (p *people) user(name, role, project string) *gophercloud.ProviderClient {
	p.t.Helper()
	u, err := users.Create(p.t.Context(), p.keystone, users.CreateOpts{Name: name, DomainID: "default", Password: "secret-" + name}).Extract()
	p.must(err)
	p.t.Cleanup(func() {
		p.clean(func(ctx context.Context) error { return users.Delete(ctx, p.keystone, u.ID).ExtractErr() })
	})
	p.must(roles.Assign(p.t.Context(), p.keystone, p.roles[role], roles.AssignOpts{UserID: u.ID, ProjectID: project}).ExtractErr())
	provider, err := openstack.AuthenticatedClient(p.t.Context(), gophercloud.AuthOptions{IdentityEndpoint: p.keystone.IdentityEndpoint,
		UserID: u.ID, Password: "secret-" + name, Scope: &gophercloud.AuthScope{ProjectID: project}})
	p.must(err)
	return provider
}

func (p *people) projectOf(name string) string {
	p.t.Helper()
	rows, err := p.cloud.Query(p.t.Context(), "keystone", "SELECT id FROM project WHERE name = '"+name+"'")
	p.must(err)
	return rows[0]
}

func (p *people) makeProject(name string) string {
	p.t.Helper()
	made, err := projects.Create(p.t.Context(), p.keystone, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
	p.must(err)
	p.t.Cleanup(func() {
		p.clean(func(ctx context.Context) error { return projects.Delete(ctx, p.keystone, made.ID).ExtractErr() })
	})
	return made.ID
}

func (p *people) tokenOf(entry string) string { return p.provider(entry).Token() }

func (p *people) clean(remove func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := remove(ctx); err != nil {
		p.t.Errorf("cleaning up: %v", err)
	}
}

// provider logs in by an entry of clouds.yaml.
func (b *bench) provider(entry string) *gophercloud.ProviderClient {
	b.t.Helper()
	auth, _, tls, err := clouds.Parse(clouds.WithCloudName(entry), clouds.WithLocations(b.cloud.CloudsYAML()))
	b.must(err)
	provider, err := config.NewProviderClient(b.t.Context(), auth, config.WithTLSConfig(tls))
	b.must(err)
	return provider
}
