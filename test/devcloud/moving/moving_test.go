package moving

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-sh/slipway/addons/magnum/moving"
)

// The clusters and templates, without dots, because Magnum takes the end of a path for the name of a
// format: shop goes to Slipway and comes back, mail is upgraded and deleted by Slipway.
const (
	shop, mail             = "shop", "mail"
	templateNow, templateN = "k8s-1-33", "k8s-1-34"
)

// TestMovingFromMagnumAndBack has two clusters made by Debian's Magnum with magnum-capi-helm, and
// moves them: their answers are the same bytes, OpenTofu's plan stays empty, no machine is
// written. Slipway resizes one, upgrades the other, gives it a node group and deletes it. After
// the hand-back Magnum shows all of that, resizes the one that is left without replacing a
// machine, and deletes it.
func TestMovingFromMagnumAndBack(t *testing.T) {
	w := newWorld(t)
	w.manage()
	w.equip()
	w.enlarge()
	w.keypair("ops")
	w.image("node-1.33", "v1.33.8")
	w.image("node-1.34", "v1.34.4")
	before := w.rows()
	w.make()

	address := w.serve()
	clusters, templates := []string{shop, mail}, []string{templateNow, templateN}
	w.healthy(clusters...)
	state := w.describe(templateNow, shop)
	state.unchanged("at Magnum's endpoint")
	debian := w.answers(clusters, templates)
	w.magnum("stop", "magnum-api", "magnum-conductor")
	servers, versions := w.servers(), w.versions("")

	w.moveIn(address, clusters, templates, debian)
	state.unchanged("at Slipway's endpoint")
	if now := w.servers(); !slices.Equal(now, servers) {
		t.Errorf("servers %q became %q", servers, now)
	}
	if diff := cmp.Diff(versions, w.versions("")); diff != "" {
		t.Errorf("moving in wrote: %s", diff)
	}

	w.resize()
	w.upgradeAndDelete()
	config := w.config(shop)
	machines := w.uids(shop)
	w.moveBack(debian, config)
	if now := w.uids(shop); !slices.Equal(now, machines) {
		t.Errorf("machines %q became %q", machines, now)
	}

	w.openstack("coe", "cluster", "delete", shop)
	w.gone(shop)
	w.openstack("coe", "cluster", "template", "delete", templateNow)
	w.openstack("coe", "cluster", "template", "delete", templateN)
	// Magnum's trust of the cluster that Slipway deleted stays, with its user, as the guide says. Of a
	// cluster that Magnum deletes it leaves the authorities of etcd and of the front proxy.
	kept := []string{"all: keystone.trust deleted_at IS NULL: 1, 0 before", "all: keystone.user 1=1: ", "all: magnum.x509keypair 1=1: 2, 0 before"}
	for _, table := range differ(before, w.rows()) {
		if !slices.ContainsFunc(kept, func(known string) bool { return strings.HasPrefix(table, known) }) {
			t.Errorf("left: %s", table)
		}
	}
}

// make has Magnum make the clusters, one of them with a key pair, labels and another node group.
func (w *world) make() {
	w.Helper()
	template := w.template(templateNow, "node-1.33", "octavia_provider=ovn,team=shop")
	w.template(templateN, "node-1.34", "octavia_provider=ovn,team=shop")
	w.openstack("coe", "cluster", "create", shop, "--cluster-template", template, "--keypair", "ops", "--master-count", "1", "--node-count", "1", "--labels", "tier=gold", "--merge-labels")
	w.openstack("coe", "cluster", "create", mail, "--cluster-template", template, "--master-count", "1", "--node-count", "1")
	w.status(shop, "CREATE_COMPLETE")
	w.status(mail, "CREATE_COMPLETE")
	w.openstack("coe", "nodegroup", "create", shop, "batch", "--node-count", "1", "--flavor", "m1.large", "--role", "batch")
	w.status(shop, "UPDATE_COMPLETE")
	// Magnum says that it is done before Cluster API has begun.
	w.eventually("five servers", func() bool {
		list := w.servers()
		return len(list) == 5 && !slices.ContainsFunc(list, func(row string) bool { return !strings.HasSuffix(row, "active") })
	}, func() string { return strings.Join(w.servers(), "\n") })
}

// moveIn is what the guide says of it, up to the adoption.
func (w *world) moveIn(address string, clusters, templates []string, debian map[string]string) {
	w.Helper()
	w.plan(moving.Adopt, clusters...)
	for range 2 {
		w.Log(w.run("magnum", "import", "--from-database", w.conf(), "--cloud", "devcloud-admin"))
	}
	w.register(address)
	w.Cleanup(func() { w.magnum("start", "magnum-api", "magnum-conductor") })
	w.same("copied", debian, w.answers(clusters, templates), renamed)
	if said := w.refused("coe", "cluster", "resize", shop, "2"); !strings.Contains(said, "managed by OpenStack's Magnum") {
		w.Errorf("a change of a copy: %s", said)
	}
	w.Log(w.run("magnum", "import", "--from-database", w.conf(), "--cloud", "devcloud-admin", "--adopt"))
	w.managed(clusters...)
	w.plan(moving.Ours, clusters...)
	w.same("adopted", debian, w.answers(clusters, templates), filled...)
}

// resize has Slipway make one more worker.
func (w *world) resize() {
	w.Helper()
	had := w.servers()
	w.openstack("coe", "cluster", "resize", shop, "2")
	w.status(shop, "UPDATE_COMPLETE")
	now := w.servers()
	if kept := slices.DeleteFunc(slices.Clone(now), func(row string) bool { return !slices.Contains(had, row) }); len(now) != len(had)+1 || len(kept) != len(had) {
		w.Errorf("servers %q became %q", had, now)
	}
}

// upgradeAndDelete has Slipway replace the machines of the other cluster, which makes its release
// Slipway's, give it a node group, and delete it. Nothing of it is left.
func (w *world) upgradeAndDelete() {
	w.Helper()
	others := w.versions(shop)
	w.openstack("coe", "cluster", "upgrade", mail, templateN)
	w.status(mail, "UPDATE_COMPLETE")
	if c := w.show("coe", "cluster", "show", mail); c["coe_version"] != "v1.34.4" {
		w.Errorf("after the upgrade: %v", c)
	}
	w.openstack("coe", "nodegroup", "create", mail, "more", "--node-count", "1", "--flavor", "m1.large")
	w.status(mail, "UPDATE_COMPLETE")
	if list := w.openstack("coe", "nodegroup", "list", mail); !strings.Contains(list, "more") {
		w.Errorf("the node groups are\n%s", list)
	}
	uuid, _ := w.show("coe", "cluster", "show", mail)["uuid"].(string)
	w.openstack("coe", "cluster", "delete", mail)
	w.gone(mail)
	for _, word := range []string{mail, uuid} {
		if left := w.named(word); len(left) > 0 {
			w.Errorf("of %s is left: %q", word, left)
		}
	}
	if diff := cmp.Diff(others, w.versions(shop)); diff != "" {
		w.Errorf("that wrote objects of %s: %s", shop, diff)
	}
}

// moveBack is what the guide says of it. Then Magnum resizes the cluster to the size that it has.
func (w *world) moveBack(debian map[string]string, config string) {
	w.Helper()
	versions := w.versions(shop)
	w.Log(w.run("magnum", "hand-back", "--to-database", w.conf(), "--dry-run"))
	w.Log(w.run("magnum", "hand-back", "--to-database", w.conf()))
	if again := w.run("magnum", "hand-back", "--to-database", w.conf()); !strings.Contains(again, "nothing was written") {
		w.Errorf("a second hand-back says\n%s", again)
	}
	if diff := cmp.Diff(versions, w.versions(shop)); diff != "" {
		w.Errorf("the hand-back wrote: %s", diff)
	}
	w.magnum("start", "magnum-api", "magnum-conductor")
	w.register(w.debians())
	w.eventually("Debian's Magnum", func() bool {
		_, err := w.inside(nil, w.login, "openstack", "coe", "cluster", "list")
		return err == nil
	}, w.causes)
	if said := w.refused("coe", "cluster", "show", mail); !strings.Contains(said, "could not be found") {
		w.Errorf("Magnum says of the cluster that Slipway deleted: %s", said)
	}
	if now := w.config(shop); now != config || now != debian["config "+shop] {
		w.Errorf("the kubeconfig was %s and is %s", config, now)
	}
	if c := w.show("coe", "cluster", "show", shop); c["node_count"] != float64(3) || c["status"] != "UPDATE_COMPLETE" {
		w.Errorf("Magnum shows %v", c)
	}
	w.openstack("coe", "cluster", "resize", shop, "2")
	w.status(shop, "UPDATE_COMPLETE")
}
