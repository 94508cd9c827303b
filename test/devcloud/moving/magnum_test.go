package moving

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/bundle"
)

// equip gives Magnum's driver what it looks for: Helm's program, which is the bundle's, the chart, and the way to the
// management cluster.
func (w *world) equip() {
	w.Helper()
	folder, err := bundle.Open(w.bundle)
	w.must(err)
	item := folder.Bill().Item("helm")
	if item == nil {
		w.Fatal("the bundle has no helm")
	}
	helm, err := os.Open(folder.Blob(item.SHA256))
	w.must(err)
	defer helm.Close()
	_, err = w.inside(helm, nil, "sh", "-c", "cat > /usr/local/bin/helm && chmod 755 /usr/local/bin/helm && helm version")
	w.must(err)
	kubeconfig, err := os.Open(w.kubeconfig)
	w.must(err)
	defer kubeconfig.Close()
	_, err = w.inside(kubeconfig, nil, "sh", "-c", "umask 077; cat > /etc/magnum/kubeconfig")
	w.must(err)
	archive, err := exec.Command("tar", "-C", w.chart(), "-c", ".").Output()
	w.must(err)
	_, err = w.inside(bytes.NewReader(archive), nil, "sh", "-c", "mkdir -p /usr/local/share/charts && tar -C /usr/local/share/charts -x")
	w.must(err)
}

// chart is a folder with the chart openstack-cluster: SLIPWAY_CAPI_HELM_CHART names an original,
// unpacked, with its dependency in it. Else it is Slipway's, which takes the same values,
// changed as far as a move could tell the two apart: it has no schema, and a chart inside.
func (w *world) chart() string {
	w.Helper()
	folder := w.path("charts")
	w.must(os.MkdirAll(folder, 0o755))
	if original := os.Getenv("SLIPWAY_CAPI_HELM_CHART"); original != "" {
		w.Logf("the chart is %s", original)
		w.must(os.CopyFS(folder+"/openstack-cluster", os.DirFS(original)))
		return folder
	}
	ours, err := openstackcluster.Chart()
	w.must(err)
	made, metadata := *ours, *ours.Metadata
	made.Metadata, made.Schema = &metadata, nil
	metadata.Version, metadata.Dependencies = "0.10.1", []*chart.Dependency{{Name: "cluster-addons", Version: "0.10.1", Repository: "file://../cluster-addons"}}
	made.SetDependencies(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "cluster-addons", Version: "0.10.1"}})
	w.must(chartutil.SaveDir(&made, folder))
	return folder
}

// template makes a cluster template by Magnum's API, and returns its UUID: Debian's magnum-api does not
// find it by its name when it makes a cluster.
func (w *world) template(name, image, labels string) (uuid string) {
	w.Helper()
	w.openstack("coe", "cluster", "template", "create", name, "--coe", "kubernetes", "--image", image, "--external-network", "public", "--master-flavor", "m1.large",
		"--flavor", "m1.medium", "--network-driver", "calico", "--dns-nameserver", "192.0.2.53", "--master-lb-enabled", "--floating-ip-enabled", "--labels", labels)
	uuid, _ = w.show("coe", "cluster", "template", "show", name)["uuid"].(string)
	return uuid
}

// show are the fields of what the client shows.
func (w *world) show(args ...string) map[string]any {
	w.Helper()
	out := w.openstack(append(args, "-f", "json")...)
	fields := map[string]any{}
	w.must(json.Unmarshal([]byte(out), &fields))
	return fields
}

// status waits until a cluster has a status.
func (w *world) status(name, status string) {
	w.Helper()
	last := ""
	w.eventually(name+" "+status, func() bool {
		last, _ = w.show("coe", "cluster", "show", name)["status"].(string)
		if strings.HasSuffix(last, "_FAILED") {
			w.Fatalf("%s is %s\n%s\n%s", name, last, w.openstack("coe", "cluster", "show", name), w.causes())
		}
		return last == status
	}, func() string { return last + "\n" + w.openstack("coe", "cluster", "show", name) + w.causes() })
}

// healthy waits until Magnum has looked at the health of clusters for the last time: later looks would
// change what it shows. It never finds one healthy: it asks for a version of OpenStackCluster that
// is no more.
func (w *world) healthy(names ...string) {
	w.Helper()
	for _, name := range names {
		w.eventually("a look at the health of "+name, func() bool {
			reason, _ := w.show("coe", "cluster", "show", name)["health_status_reason"].(map[string]any)
			return reason["controlplane"] == "Ready" && reason["nodegroup"] == "Ready"
		}, w.causes)
	}
}

// gone waits until a cluster is no more.
func (w *world) gone(name string) {
	w.Helper()
	w.eventually("the end of "+name, func() bool {
		out, err := w.inside(nil, w.login, "openstack", "coe", "cluster", "show", name, "-f", "json")
		return err != nil && strings.Contains(err.Error()+out, "could not be found")
	}, func() string { return w.openstack("coe", "cluster", "list") + w.causes() })
}

// causes are what an eye would look at: Cluster API's objects, and the end of the conductor's log.
func (w *world) causes() string {
	out, err := w.inside(nil, nil, "tail", "-n", "40", "/var/log/devcloud/magnum-conductor.log")
	if err != nil {
		out = err.Error()
	}
	return w.objects() + out
}

// rows are the numbers of rows that the project has in the services' databases, and of what
// belongs to none.
func (w *world) rows() map[string]string {
	w.Helper()
	all, err := w.demo.Counts(w.Context())
	w.must(err)
	for _, table := range []string{"keystone.trust deleted_at IS NULL", "keystone.user 1=1", "keystone.application_credential 1=1", "magnum.cluster 1=1", "magnum.nodegroup 1=1",
		"magnum.x509keypair 1=1", "neutron.networks 1=1", "neutron.ports 1=1", "neutron.floatingips 1=1"} {
		all["all: "+table], err = w.demo.Count(w.Context(), table)
		w.must(err)
	}
	return all
}

// named are the rows of the project's services that have a name with a word in it.
func (w *world) named(word string) (found []string) {
	w.Helper()
	for _, query := range [][2]string{
		{"nova", "SELECT 'server', display_name FROM instances WHERE deleted = 0 AND display_name LIKE '%WORD%'"},
		{"neutron", "SELECT 'network', name FROM networks WHERE name LIKE '%WORD%'"},
		{"neutron", "SELECT 'subnet', name FROM subnets WHERE name LIKE '%WORD%'"},
		{"neutron", "SELECT 'router', name FROM routers WHERE name LIKE '%WORD%'"},
		{"neutron", "SELECT 'port', name FROM ports WHERE name LIKE '%WORD%'"},
		{"neutron", "SELECT 'security group', name FROM securitygroups WHERE name LIKE '%WORD%'"},
		{"octavia", "SELECT 'load balancer', name FROM load_balancer WHERE provisioning_status <> 'DELETED' AND name LIKE '%WORD%'"},
		{"nova_api", "SELECT 'server group', name FROM instance_groups WHERE name LIKE '%WORD%'"},
		{"keystone", "SELECT 'credential', name FROM application_credential WHERE name LIKE '%WORD%' OR description LIKE '%WORD%'"},
	} {
		rows, err := w.cloud.Query(w.Context(), query[0], strings.ReplaceAll(query[1], "WORD", word))
		w.must(err)
		found = append(found, rows...)
	}
	return found
}

// servers are those of the project, by Nova's database.
func (w *world) servers() []string {
	w.Helper()
	rows, err := w.cloud.Query(w.Context(), "nova", "SELECT uuid, display_name, vm_state FROM instances WHERE project_id = '"+w.demo.ID()+"' AND deleted = 0 ORDER BY display_name")
	w.must(err)
	return rows
}

// differ are the tables that have other numbers of rows.
func differ(before, now map[string]string) (all []string) {
	for _, table := range slices.Sorted(maps.Keys(now)) {
		if now[table] != before[table] {
			all = append(all, table+": "+now[table]+", "+before[table]+" before")
		}
	}
	return all
}
