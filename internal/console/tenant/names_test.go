package tenant_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// evil are names that would do harm if they were no text.
func evil() []string {
	return []string{`</option></title><script>alert(1)</script>`, `" onmouseover="alert(1)`, "\u202Eexe.\u2066gpj\u200F", "two\nlines", strings.Repeat("x", 3000)}
}

// answer has a service answer with names, which its own rules may not allow: another cloud's
// may.
func answer(t *testing.T, w *tenanttest.World, path, list string, item func(name string) any) {
	t.Helper()
	items := []any{}
	for _, name := range evil() {
		items = append(items, item(name))
	}
	body, err := json.Marshal(map[string]any{list: items})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Cloud.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "compute", Method: "GET", Path: path, Status: 200, Body: string(body)}); err != nil {
		t.Fatal(err)
	}
}

// spoil gives a cluster of an evil name node groups of evil names, and returns their addresses.
func spoil(t *testing.T, w *tenanttest.World, id string) (groups []string) {
	t.Helper()
	v := w.View(id)
	for i, name := range evil() {
		g := v.Default(false).DeepCopy()
		g.ResourceVersion, g.UID = "", ""
		g.Name = fmt.Sprintf("%s-%d", v.Cluster.Name, i)
		g.Spec.Name, g.Spec.UUID, g.Spec.IsDefault, g.Spec.FlavorID = name, uuid.NewString(), false, name
		if err := w.Kube.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		groups = append(groups, "/clusters/"+id+"/groups/"+g.Spec.UUID)
	}
	c := v.Cluster.DeepCopy()
	c.Spec.Name = evil()[0]
	if err := w.Kube.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.Await("the groups", func() bool { return len(w.View(id).Groups) == 2+len(groups) && w.View(id).Cluster.Title() == evil()[0] })
	return groups
}

// values are what a form sends, which stays what it is.
var values = regexp.MustCompile(` value="[^"]*"`)

// TestHostileNames of templates, flavors, key pairs, networks, clusters and node groups are
// text, wherever a page or a form has them.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	for i, name := range evil()[:4] { // Neutron and Magnum have names of 255 characters at most
		network(t, w.As(tenanttest.Member, "shop"), name, false)
		w.Template(name, []string{"ubuntu-1.34", "ubuntu-1.35"}[i%2])
	}
	groups := spoil(t, w, id)
	answer(t, w, "/v2.1/flavors/detail", "flavors", func(name string) any {
		return map[string]any{"id": name, "name": name, "vcpus": 2, "ram": 4096, "disk": 20}
	})
	answer(t, w, "/v2.1/os-keypairs", "keypairs", func(name string) any { return map[string]any{"keypair": map[string]any{"name": name}} })
	b := open(t, w).enter(tenanttest.Member, "shop")
	at := "/clusters/" + id
	b.until("/clusters", "alert(1)")
	b.until(at, "two\nlines")
	pages := []string{"/clusters", at, at + "/upgrade", at + "/rotate", at + "/delete", at + "/groups/new", "/clusters/new"}
	for _, group := range groups {
		pages = append(pages, group+"/resize", group+"/delete")
	}
	for _, path := range pages {
		p := b.get(path).want(200)
		p.text = values.ReplaceAllString(p.text, "")
		b.harmless(path, p, true)
		if strings.Count(p.text, "<script") != strings.Count(p.text, "<script src=") {
			t.Errorf("%s has a script:\n%s", path, p.text)
		}
	}
	// What is chosen is sent as it is.
	form := b.get("/clusters/new")
	for _, field := range []string{"flavor_id", "keypair", "fixed_network", "cluster_template_id"} {
		if n := len(form.options(field)); n < 1+4 {
			t.Errorf("%s has %d choices", field, n)
		}
	}
	for _, name := range evil()[:3] {
		p := b.send(form, "/clusters/new", "name", "x", "master_count", "2", "flavor_id", name, "keypair", name).want(422)
		kept(t, p.form("/clusters/new"), []string{"flavor_id", name, "keypair", name})
	}
	seen := b.get(at + "/delete").want(200)
	w.Settle(id, func(c *v1alpha1.Cluster) { c.Status.StatusReason = "" })
	g := slices.MaxFunc(w.View(id).Groups, func(a, b *v1alpha1.NodeGroup) int { return len(a.Title()) - len(b.Title()) }).DeepCopy()
	g.Spec.NodeCount++
	if err := w.Kube.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	w.Await("the size", func() bool {
		return slices.ContainsFunc(w.View(id).Groups, func(one *v1alpha1.NodeGroup) bool {
			return one.UUID() == g.UUID() && one.Spec.NodeCount == g.Spec.NodeCount
		})
	})
	p := b.send(seen, at+"/delete", "confirm", evil()[0]).want(409, "has the size")
	p.text = values.ReplaceAllString(p.text, "")
	b.harmless("what changed", p, true)
}

// TestHostileProjects and users: where somebody is, and where they may go.
func TestHostileProjects(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	identity := w.Cloud.Admin.Identity(t)
	pages, err := roles.List(identity, roles.ListOpts{Name: "member"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	member, err := roles.ExtractRoles(pages)
	if err != nil {
		t.Fatal(err)
	}
	user, err := users.Create(t.Context(), identity, users.CreateOpts{Name: evil()[1], Password: tenanttest.Password, DomainID: "default"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range evil()[:3] {
		project, err := projects.Create(t.Context(), identity, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
		if err == nil {
			err = roles.Assign(t.Context(), identity, member[0].ID, roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, w)
	p := b.send(b.get("/enter"), "/enter", "user", evil()[1], "password", tenanttest.Password).want(403, "You have several projects")
	p.text = values.ReplaceAllString(p.text, "")
	b.harmless("the projects", p, true)
	for _, name := range evil()[:3] {
		b := open(t, w)
		p := b.send(b.get("/enter"), "/enter", "user", evil()[1], "password", tenanttest.Password, "project", name).want(200, "There are no clusters")
		b.harmless("the project", p, true)
		b.harmless("the project at a form", b.get("/clusters/new").want(200), false)
	}
}

var (
	symbols = regexp.MustCompile(`(?s)<symbol id="(m-[a-z]+)"[^>]*>(.*?)</symbol>`)
	badges  = regexp.MustCompile(`<span class="badge ([a-z]+)"><svg aria-hidden="true"><use href="#(m-[a-z]+)"/></svg><bdi>([^<]+)</bdi></span>`)
)

// TestEachStatusHasItsShape: nobody has to see colours.
func TestEachStatusHasItsShape(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	b := open(t, w).enter(tenanttest.Member, "shop")
	shapes := map[string]string{}
	for phase, word := range map[v1alpha1.Phase]string{v1alpha1.CreateComplete: "create complete", v1alpha1.UpdateInProgress: "update in progress", v1alpha1.UpdateFailed: "update failed", v1alpha1.DeleteFailed: "delete failed"} {
		w.Settle(id, func(c *v1alpha1.Cluster) { c.Status.Phase = phase })
		b.send(b.get("/clusters"), "/again")
		p := b.until("/clusters", word)
		drawn := map[string]string{}
		for _, match := range symbols.FindAllStringSubmatch(p.text, -1) {
			if other, ok := drawn[match[2]]; ok {
				t.Errorf("%s looks like %s", match[1], other)
			}
			drawn[match[2]] = match[1]
		}
		if len(drawn) != 4 {
			t.Errorf("the page has the shapes %v", drawn)
		}
		match := badges.FindStringSubmatch(p.text)
		if match == nil || match[3] != word || match[2] != "m-"+match[1] || !slices.Contains(slices.Collect(maps.Values(drawn)), match[2]) {
			t.Errorf("%s has the badge %q among %v", phase, match, drawn)
			continue
		}
		shapes[match[1]] = match[2]
	}
	if len(shapes) != 3 {
		t.Errorf("the shapes are %v", shapes)
	}
}
