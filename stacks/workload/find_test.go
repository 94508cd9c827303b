package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	firstUUID  = "11111111-2222-4333-8444-555555555555"
	secondUUID = "a1111111-2222-4333-8444-555555555555"
)

func TestClustersAreFoundByEveryName(t *testing.T) {
	t.Parallel()
	shop, web, web2 := Key{Namespace: "shop", Name: "shop"}, Key{Namespace: "magnum-p1", Name: "web-x1"}, Key{Namespace: "magnum-p1", Name: "web-x2"}
	other := Key{Namespace: "magnum-p2", Name: "web-x3"}
	tenants := func(of map[Key]string) map[Key]Tenant {
		all := map[Key]Tenant{}
		for key, title := range of {
			uuid := firstUUID
			if len(all) > 0 {
				uuid = secondUUID
			}
			all[key] = Tenant{Name: title, UUID: uuid}
		}
		return all
	}
	for name, c := range map[string]struct {
		ask     string
		named   []Key
		tenants map[Key]Tenant
		want    Key
		err     []string
		fix     string
	}{
		"nobody":                      {ask: "web", tenants: tenants(map[Key]string{shop: "other"})},
		"by the objects' name":        {ask: "shop", named: []Key{shop}, want: shop},
		"by Magnum's name":            {ask: "web", tenants: tenants(map[Key]string{web: "web"}), want: web},
		"by both, the same":           {ask: "web-x1", named: []Key{web}, tenants: tenants(map[Key]string{web: "web-x1"}), want: web},
		"by UUID":                     {ask: firstUUID, tenants: tenants(map[Key]string{web: "web"}), want: web},
		"by a UUID that is a name":    {ask: firstUUID, named: []Key{shop}, tenants: map[Key]Tenant{web: {Name: "web", UUID: firstUUID}, other: {Name: firstUUID, UUID: secondUUID}}, want: web},
		"two in two namespaces":       {ask: "shop", named: []Key{shop, {Namespace: "b", Name: "shop"}}, err: []string{"cluster shop in namespace b, cluster shop in namespace shop"}, fix: "choose one with --namespace"},
		"ours and a tenant's":         {ask: "shop", named: []Key{shop}, tenants: tenants(map[Key]string{web: "shop"}), err: []string{"cluster shop in namespace shop, cluster web-x1 in namespace magnum-p1 (Magnum UUID " + firstUUID + ")"}, fix: "choose one with --namespace, or give its UUID"},
		"two of one project":          {ask: "web", tenants: tenants(map[Key]string{web: "web", web2: "web"}), err: []string{"web-x1", "web-x2", firstUUID, secondUUID}, fix: "give its UUID"},
		"two of different projects":   {ask: "web", tenants: tenants(map[Key]string{web: "web", other: "web"}), err: []string{"magnum-p1", "magnum-p2"}, fix: "choose one with --namespace, or give its UUID"},
		"a name in different letters": {ask: "Web", tenants: tenants(map[Key]string{web: "web"})},
	} {
		got, err := choose(c.ask, c.named, c.tenants)
		if len(c.err) == 0 {
			if err != nil || got != c.want {
				t.Errorf("%s: %s, %v", name, got, err)
			}
			continue
		}
		if got != (Key{}) || fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) != c.fix {
			t.Errorf("%s: %s, %v (fix: %s)", name, got, err, fault.Remedy(err))
		}
		for _, part := range c.err {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, without %q", name, err, part)
			}
		}
	}
}

// titled finds a cluster of the Magnum API by what its tenant sees, lists it with that, and
// says how it is deleted.
func titled(w *world) {
	objects := `
{apiVersion: v1, kind: Namespace, metadata: {name: magnum-p7, labels: {magnum.openstack.org/project-id: p7}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: web-front-x1, namespace: magnum-p7}, spec: {infrastructureRef: {apiGroup: a.b, kind: C, name: c}}}
---
{apiVersion: magnum.slipway.sh/v1alpha1, kind: Cluster, metadata: {name: web-front-x1, namespace: magnum-p7}, spec: {uuid: ` + firstUUID + `, name: Web.Front, projectID: p7, templateRef: {name: t}}}
---
{apiVersion: magnum.slipway.sh/v1alpha1, kind: Cluster, metadata: {name: adopted, namespace: magnum-p7}, spec: {uuid: ` + secondUUID + `, name: starting, projectID: p7, stackID: starting-x2, templateRef: {name: t}}}
`
	if err := w.Kube.Apply(w.Context(), []byte(objects)); err != nil {
		w.Fatal(err)
	}
	front, starting := Key{Namespace: "magnum-p7", Name: "web-front-x1"}, Key{Namespace: "magnum-p7", Name: "starting-x2"}
	for ask, want := range map[string]Key{"Web.Front": front, firstUUID: front, "web-front-x1": front, "starting": starting, secondUUID: starting} {
		for _, namespace := range []string{"", "magnum-p7"} {
			if found, err := w.Find(w.Context(), ask, namespace); err != nil || found != want {
				w.Errorf("%s in %q is found as %s (%v)", ask, namespace, found, err)
			}
		}
	}
	if _, err := w.Find(w.Context(), "Web.Front", "elsewhere"); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "not a valid name") {
		w.Errorf("in another namespace: %v", err)
	}
	if found, err := w.Find(w.Context(), "starting", "elsewhere"); err != nil || found != (Key{Namespace: "elsewhere", Name: "starting"}) {
		w.Errorf("in another namespace: %s, %v", found, err)
	}
	w.oddlyNamed()
	if _, err := w.MayDelete(w.Context(), front); fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) != "delete it with openstack coe cluster delete "+firstUUID {
		w.Errorf("deleting it: %v (%s)", err, fault.Remedy(err))
	}
	list, err := w.List(w.Context())
	i := slices.IndexFunc(list, func(s Summary) bool { return s.Name == front.Name })
	if err != nil || i < 0 || list[i].Tenant == nil || *list[i].Tenant != (Tenant{Name: "Web.Front", UUID: firstUUID, ProjectID: "p7"}) {
		w.Errorf("listed: %+v, %v", list, err)
	}
	if d, err := w.Describe(w.Context(), front); err != nil || d.Tenant == nil || d.Tenant.UUID != firstUUID {
		w.Errorf("described: %+v, %v", d, err)
	}
}

// oddlyNamed finds clusters with names that Slipway gives to none: they are others', and may
// have been adopted as they are.
func (w *world) oddlyNamed() {
	w.Helper()
	long := strings.Repeat("x", longestName+1)
	for _, name := range []string{"1st.shop", long} {
		objects := `
{apiVersion: v1, kind: Namespace, metadata: {name: oddly-named}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: ` + name + `, namespace: oddly-named}, spec: {infrastructureRef: {apiGroup: a.b, kind: C, name: c}}}
`
		if err := w.Kube.Apply(w.Context(), []byte(objects)); err != nil {
			w.Fatal(err)
		}
		if found, err := w.Find(w.Context(), name, ""); err != nil || found != (Key{Namespace: "oddly-named", Name: name}) {
			w.Errorf("%s is found as %s (%v)", name, found, err)
		}
	}
	if found, err := w.Find(w.Context(), "", ""); err == nil {
		w.Errorf("no name finds %s", found)
	}
}
