package tenant_test

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// TestTwoBrowsers change one cluster: the second is told what the first has done.
func TestTwoBrowsers(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	id := w.Cluster("shop-prod", template)
	one, two := open(t, w).enter(tenanttest.Member, "shop"), open(t, w).enter(tenanttest.Member, "shop")
	path := "/clusters/" + id + "/groups/" + w.View(id).Default(false).UUID() + "/resize"
	first, second := one.get(path).want(200), two.get(path).want(200)
	one.send(first, path, "node_count", "5").want(200)
	w.Settle(id)
	conflict := two.send(second, path, "node_count", "3").want(409, "it has 5 machines now")
	if form := conflict.form(path); form.Get("node_count") != "3" || w.View(id).Default(false).Spec.NodeCount != 5 {
		t.Errorf("typed %v, the group has %d", form, w.View(id).Default(false).Spec.NodeCount)
	}
	two.send(conflict, path, "node_count", "3").want(200) // who has seen it may insist
	w.Settle(id)
	// What only the API knows: the cluster is at something else.
	w.Settle(id, func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.CreateInProgress })
	one.fill(path, "node_count", "4").want(409, "CREATE_IN_PROGRESS")
	w.Settle(id, func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.UpdateComplete })
	newer := w.Template("k8s-next", "ubuntu-1.35")
	upgrade := "/clusters/" + id + "/upgrade"
	first, second = one.get(upgrade), two.get(upgrade)
	one.send(first, upgrade, "cluster_template", newer).want(200)
	two.send(second, upgrade, "cluster_template", newer).want(409, "Somebody else has changed the template")
}

// group is the address of a node group of a cluster, by its name.
func group(w *tenanttest.World, id, name string) string {
	for _, g := range w.View(id).Groups {
		if g.Title() == name {
			return "/clusters/" + id + "/groups/" + g.UUID()
		}
	}
	return ""
}

// TestTwoBrowsersEndOneCluster: what will be lost is what the page has said, for a cluster and
// for a group, and two who rotate make one new credential.
func TestTwoBrowsersEndOneCluster(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	at := "/clusters/" + id
	one, two := open(t, w).enter(tenanttest.Member, "shop"), open(t, w).enter(tenanttest.Member, "shop")

	rotate := at + "/rotate"
	first, second := one.get(rotate).want(200), two.get(rotate).want(200)
	one.send(first, rotate, "what", "credential").want(200)
	made := w.View(id).Cluster.Spec.Credential.ApplicationCredentialID
	w.Settle(id)
	again := two.send(second, rotate, "what", "credential").want(409, "somebody else has rotated", "update complete")
	if now := w.View(id).Cluster.Spec.Credential.ApplicationCredentialID; now != made || again.form(rotate).Get("what") != "credential" {
		t.Errorf("the credential is %s, and was %s", now, made)
	}
	two.send(again, rotate).want(200) // who has seen it may insist
	if w.View(id).Cluster.Spec.Credential.ApplicationCredentialID == made {
		t.Error("it was not rotated again")
	}
	w.Settle(id)

	deletion := at + "/delete"
	whole := two.get(deletion).want(200, "All 3 machines")
	one.fill(at+"/groups/new", "name", "gpu", "node_count", "1").want(200)
	w.Settle(id)
	workers := group(w, id, "default-worker") + "/resize"
	one.fill(workers, "node_count", "5").want(200)
	w.Settle(id)
	gpu := group(w, id, "gpu")
	part := two.get(gpu+"/delete").want(200, "1 machine of this group")
	one.fill(gpu+"/resize", "node_count", "4").want(200)
	w.Settle(id)
	part = two.send(part, gpu+"/delete", "confirm", "gpu").want(409, "it has 4 machines now", "4 machines of this group")
	whole = two.send(whole, deletion, "confirm", "shop-prod").want(409, "default-worker has the size 5, and had 2", "the node group gpu is new", "All 10 machines")
	if w.View(id).Cluster.DeletionTimestamp != nil || whole.form(deletion).Get("confirm") != "shop-prod" {
		t.Error("it was deleted, or what was typed is lost")
	}
	two.send(part, gpu+"/delete").want(200)
	w.Settle(id)
	w.Settle(id)
	whole = two.send(whole, deletion).want(409, "the node group gpu is gone", "All 6 machines")
	two.send(whole, deletion).want(200)
	if v := w.View(id); v != nil && v.Cluster.DeletionTimestamp == nil {
		t.Error("it was not deleted")
	}
	if strings.Contains(one.until("/clusters", "delete in progress").text, "create complete") {
		t.Error("the list shows it as it was")
	}
}
