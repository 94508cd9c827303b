package cluster

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

func printed(t *testing.T, table ui.Table) string {
	t.Helper()
	var out bytes.Buffer
	if err := ui.Output(&out, "table", nil, table); err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(out.String(), "\n")
}

// TestTables shows short causes in a list and whole ones, with reasons, in a
// description.
//
// proves: S-83
func TestTables(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	long := "Quota exceeded for cores: " + strings.Repeat("x", 200)
	list := printed(t, listTable([]workload.Summary{
		{Namespace: "shop", Name: "shop", MadeBy: workload.Ours, Phase: "Available", Version: "v1.34.4", ControlPlane: clusterapi.Count{Ready: 3, Wanted: 3}, Workers: clusterapi.Count{Ready: 2, Wanted: 2}, Created: now.Add(-time.Hour), Ready: true},
		{Namespace: "magnum-2", Name: "web-7hx2k", Tenant: &workload.Tenant{Name: "web"}, MadeBy: workload.Magnum, Phase: "Provisioning", Created: now.Add(-time.Minute), Cause: long, Reason: "quota-compute"},
		{Namespace: "magnum-1", Name: "k8s", MadeBy: workload.Magnum, Phase: "Provisioning", Workers: clusterapi.Count{Wanted: 1}, Created: now.Add(-time.Minute), Cause: long},
	}, now))
	want := "NAME  NAMESPACE  MADE BY  PHASE         VERSION  CONTROL PLANE  WORKERS  AGE  CAUSE\n" +
		"shop  shop       slipway  Available     v1.34.4  3/3            2/2      60m\n" +
		"web   magnum-2   magnum   Provisioning           0/0            0/0      60s  quota-compute\n" +
		"k8s   magnum-1   magnum   Provisioning           0/0            0/1      60s  " + long[:31] + "…\nfor causes in full: slipway why NAME"
	if list != want {
		t.Errorf("listed as\n%s\nwant\n%s", list, want)
	}
	if elsewhere := printed(t, listTable([]workload.Summary{
		{Namespace: "shop", Name: "shop", MadeBy: workload.Ours, Phase: "Available", Project: &workload.Project{ID: "p-1", Name: "retail"}, Created: now.Add(-time.Hour)},
		{Namespace: "home", Name: "home", MadeBy: workload.Ours, Phase: "Available", Created: now.Add(-time.Hour)},
		{Namespace: "magnum-2", Name: "web-7hx2k", Tenant: &workload.Tenant{Name: "web", ProjectID: "p-2"}, MadeBy: workload.Magnum, Phase: "Available", Created: now.Add(-time.Hour)},
	}, now)); elsewhere != "NAME  NAMESPACE  PROJECT  MADE BY  PHASE      VERSION  CONTROL PLANE  WORKERS  AGE  CAUSE\n"+
		"shop  shop       retail   slipway  Available           0/0            0/0      60m\n"+
		"home  home                slipway  Available           0/0            0/0      60m\n"+
		"web   magnum-2   p-2      magnum   Available           0/0            0/0      60m" {
		t.Errorf("listed as\n%s", elsewhere)
	}
	if none := printed(t, listTable(nil, now)); !strings.Contains(none, "slipway cluster create") {
		t.Errorf("none is told as %s", none)
	}
	described := printed(t, describeTable(workload.Description{MadeBy: workload.Ours, Project: &workload.Project{ID: "p-1", Name: "retail"}, Tenant: &workload.Tenant{Name: "web", UUID: "u-1", ProjectID: "p"}, Details: "\nconditions of machine c-1:\n  Ready False: why",
		Report: clusterapi.Report{Namespace: "c", Name: "c", Version: "v1.34.4", Parts: []clusterapi.Part{
			{Kind: "Cluster", Name: "c", State: "Provisioning"}, {Kind: "Machine", Name: "c-1", Level: 2, State: "Pending", Cause: long}}}}, now))
	for _, want := range []string{"Cluster  c ", "Machine      c-1", "Pending: " + long, "made by slipway", "in project retail (p-1)", "in the Magnum API: web, UUID u-1, of project p", "conditions of machine c-1:\n  Ready False: why"} {
		if !strings.Contains(described, want) {
			t.Errorf("described without %q:\n%s", want, described)
		}
	}
}

// TestTheQuestionNamesTheData that go with a cluster.
func TestTheQuestionNamesTheData(t *testing.T) {
	t.Parallel()
	d, key := deleted{Volumes: "keep", ObjectStores: "delete"}, workload.Key{Namespace: "shop", Name: "shop"}
	for want, stores := range map[string][]string{"(volumes of workloads: keep)?": nil, "(volumes of workloads: keep; objects of backups, registry: delete)?": {"backups", "registry"}} {
		if got := d.question(key, stores); got != "delete cluster shop/shop with everything that runs on it "+want {
			t.Errorf("it asks %q", got)
		}
	}
}
