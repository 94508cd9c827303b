package upkeep

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// TestTheEndOfAClustersLogin is served while it has one, and no longer after a renewal; one
// that is refused has ended.
func TestTheEndOfAClustersLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	soon := time.Now().UTC().Add(10 * 24 * time.Hour).Truncate(time.Second)
	first, second, third := w.credential("a", soon), w.credential("a", time.Time{}), w.credential("a", soon.Add(time.Hour))
	for name, login := range map[string]func(){
		"shop": func() { w.secret("prod", "shop", w.login(first)) }, "well": func() { w.secret("prod", "well", w.login(second)) },
		"gone": func() { w.secret("prod", "gone", w.login(third)) }, "bare": func() {},
		"ruled": func() { w.secret("prod", "ruled", w.login(w.ruled(soon))) },
	} {
		w.cluster("prod", name, "{}", "{}")
		login()
	}
	clusters := func() map[string]float64 {
		all := of(w.look(), "credential_expiry_timestamp_seconds")
		maps.DeleteFunc(all, func(name string, _ float64) bool { return name == "name=a,of=environment" })
		return all
	}
	want := map[string]float64{"name=prod/shop,of=cluster": seconds(soon), "name=prod/gone,of=cluster": seconds(soon.Add(time.Hour))}
	if got := clusters(); !maps.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	w.revoke(third)
	got := clusters()
	if refused := seconds(w.clock); got["name=prod/gone,of=cluster"] != refused {
		t.Errorf("a credential that was revoked: %v, want %v", got, refused)
	}
	w.delete("secrets", "v1", "prod", "shop-login")
	w.secret("prod", "shop", w.login(second))
	w.delete("clusters", "cluster.x-k8s.io/v1beta2", "prod", "gone")
	if got := clusters(); len(got) > 0 {
		t.Errorf("after the renewal and the deletion: %v", got)
	}
}

// TestALoginThatIsTakenAway ends alerts about it: its end, and what could be seen by it.
func TestALoginThatIsTakenAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	image := w.image("node-1")
	w.activate(image, "deactivate")
	w.cluster("prod", "shop", "{id: "+image+"}", "{id: "+image+"}")
	w.secret("prod", "shop", w.login(w.credential("a", time.Now().Add(24*time.Hour))))
	ends := func(all map[string]float64) bool {
		_, has := of(all, "credential_expiry_timestamp_seconds")["name=prod/shop,of=cluster"]
		return has
	}
	if all := w.look(); !ends(all) || len(of(all, "retired_image_users")) != 1 {
		t.Fatalf("with the login: %v", all)
	}
	w.delete("secrets", "v1", "prod", "shop-login")
	if all := w.look(); ends(all) || len(of(all, "retired_image_users")) > 0 {
		t.Errorf("without it: %v", all)
	}
}

// TestTheEndOfASharedLogin is served for each cluster that logs in by it.
func TestTheEndOfASharedLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	soon := time.Now().UTC().Add(10 * 24 * time.Hour).Truncate(time.Second)
	w.secret("logins", "all", w.login(w.credential("a", soon)))
	w.create("openstackclusteridentities", "infrastructure.cluster.x-k8s.io/v1alpha1", "kind: OpenStackClusterIdentity\nmetadata: {name: all}\n"+
		"spec: {secretRef: {name: all-login, namespace: logins}, namespaceSelector: {matchLabels: {team: a}}}\n")
	for namespace, team := range map[string]string{"one": "a", "two": "a", "other": "b"} {
		w.create("namespaces", "v1", fmt.Sprintf("kind: Namespace\nmetadata: {name: %s, labels: {team: %s}}\n", namespace, team))
		w.cluster(namespace, "shop", "{}", "{}")
		w.delete("openstackclusters", "infrastructure.cluster.x-k8s.io/v1beta1", namespace, "shop")
		w.create("openstackclusters", "infrastructure.cluster.x-k8s.io/v1beta1", fmt.Sprintf("kind: OpenStackCluster\nmetadata: {name: shop, namespace: %s}\nspec: {identityRef: {type: ClusterIdentity, name: all, cloudName: openstack}}\n", namespace))
	}
	w.client.ClearActions()
	all := of(w.look(), "credential_expiry_timestamp_seconds")
	maps.DeleteFunc(all, func(name string, _ float64) bool { return name == "name=a,of=environment" })
	if want := map[string]float64{"name=one/shop,of=cluster": seconds(soon), "name=two/shop,of=cluster": seconds(soon)}; !maps.Equal(all, want) {
		t.Errorf("served %v, want %v", all, want)
	}
	w.allowed()
}

// TestCloudsAreAskedSeldom: for a cluster that is well once an hour, for many in turns.
func TestCloudsAreAskedSeldom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch.project = nil // logs in once, too
	calls, err := w.box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "identity", Path: "/v3/auth/tokens", Delay: faultinject.Duration(time.Microsecond)})
	if err != nil {
		t.Fatal(err)
	}
	logins := func() (count int) {
		for _, r := range w.box.Faults.List() {
			if r.ID == calls.ID {
				count = r.Calls
			}
		}
		return count
	}
	login := w.login(w.credential("a", time.Time{}))
	for i := range turns + 3 {
		name := fmt.Sprintf("c%d", i)
		w.cluster("prod", name, "{}", "{}")
		w.secret("prod", name, login)
	}
	for i, want := range []int{turns, turns + 3, turns + 3} {
		w.look()
		if got := logins(); got != want {
			t.Errorf("after look %d: %d logins, want %d", i+1, got, want)
		}
	}
	w.clock = w.clock.Add(calm)
	w.look()
	if got := logins(); got != 2*turns+3 {
		t.Errorf("an hour later: %d logins", got)
	}
	if got := w.served(); len(got) != 1 {
		t.Errorf("%d clusters that are well make series: %v", turns+3, got)
	}
}

// TestAnImageThatIsRetired is told with how many clusters have it, by id or by name, and no
// longer when it is back.
func TestAnImageThatIsRetired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.login(w.credential("a", time.Time{}))
	used, gone, named := w.image("node-1"), w.image("node-2"), w.image("node-3")
	w.cluster("prod", "one", "{id: "+used+"}", "{id: "+used+"}")
	w.cluster("prod", "two", "{id: "+used+"}", "{id: "+gone+"}")
	w.cluster("prod", "three", "{filter: {name: node-3}}", "{imageRef: {name: orc}}")
	for _, name := range []string{"one", "two", "three"} {
		w.secret("prod", name, login)
	}
	retired := func() map[string]float64 { return of(w.look(), "retired_image_users") }
	if got := retired(); len(got) > 0 {
		t.Errorf("images that are well: %v", got)
	}
	w.activate(used, "deactivate")
	client := w.box.Member.Image(t)
	if err := images.Delete(t.Context(), client, gone).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	hide := func(yes bool) {
		t.Helper()
		if _, err := images.Update(t.Context(), client, named, images.UpdateOpts{images.ReplaceImageHidden{NewHidden: yes}}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	hide(true)
	w.clock = w.clock.Add(calm)
	want := map[string]float64{"image=" + used + ",of=cluster,state=deactivated": 2, "image=" + gone + ",of=cluster,state=deleted": 1, "image=node-3,of=cluster,state=hidden": 1}
	if got := retired(); !maps.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	w.activate(used, "reactivate")
	hide(false)
	delete(want, "image="+used+",of=cluster,state=deactivated")
	delete(want, "image=node-3,of=cluster,state=hidden")
	if got := retired(); !maps.Equal(got, want) { // five minutes later, not an hour
		t.Errorf("served %v, want %v", got, want)
	}
}

// TestImagesOfTemplates: an image that this project need not see is not called deleted.
func TestImagesOfTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const away = "0c9d3d1e-0000-4000-8000-000000000001"
	used := w.image("node-1")
	for name, spec := range map[string]string{
		"public": "public: true, projectID: other, imageID: " + away, "own": "projectID: " + w.project + ", imageID: " + away,
		"other": "projectID: other, imageID: " + away, "hidden": "public: true, hidden: true, projectID: other, imageID: " + away,
		"by-name": "projectID: other, imageID: node-1", "by-id": "projectID: other, imageID: " + used,
	} {
		w.create("clustertemplates", v1alpha1.Group+"/v1alpha1", "kind: ClusterTemplate\nmetadata: {name: "+name+", namespace: m}\nspec: {"+spec+"}\n")
	}
	want := map[string]float64{"image=" + away + ",of=template,state=deleted": 2}
	if got := of(w.look(), "retired_image_users"); !maps.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	w.activate(used, "deactivate")
	for _, name := range []string{"public", "own"} {
		w.delete("clustertemplates", v1alpha1.Group+"/v1alpha1", "m", name)
	}
	want = map[string]float64{"image=node-1,of=template,state=deactivated": 1, "image=" + used + ",of=template,state=deactivated": 1}
	if got := of(w.look(), "retired_image_users"); !maps.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

// TestTheRulesAllowWhatIsAsked: every call to Kubernetes is one that the ClusterRole has.
func TestTheRulesAllowWhatIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cluster("prod", "shop", "{}", "{}")
	w.secret("prod", "shop", w.login(w.credential("a", time.Time{})))
	w.client.ClearActions()
	w.look()
	asked := w.allowed()
	for _, want := range []string{"list clusters", "get openstackclusters", "get secrets", "get openstackmachinetemplates", "list clustertemplates"} {
		if !asked[want] {
			t.Errorf("nobody asked to %s", want)
		}
	}
}

// allowed wants a rule for every call to Kubernetes, and returns the calls.
func (w *world) allowed() map[string]bool {
	w.Helper()
	asked := map[string]bool{}
	for _, action := range w.client.Actions() {
		kind := action.GetResource()
		asked[action.GetVerb()+" "+kind.Resource] = true
		if !slices.ContainsFunc(Rules(), func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Verbs, action.GetVerb()) && slices.Contains(r.APIGroups, kind.Group) && slices.Contains(r.Resources, kind.Resource)
		}) {
			w.Errorf("no rule for %s of %s in %q", action.GetVerb(), kind.Resource, kind.Group)
		}
	}
	return asked
}
