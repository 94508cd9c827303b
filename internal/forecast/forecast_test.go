package forecast

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// rendered are the objects of Slipway's chart, for a cluster of three and two machines.
func rendered(t *testing.T, change func(values map[string]any)) []*unstructured.Unstructured {
	t.Helper()
	values := map[string]any{"kubernetesVersion": "1.33.5", "machineImageId": "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1", "cloudName": "openstack",
		"clouds":       map[string]any{"openstack": map[string]any{"auth": map[string]any{"project_id": "p"}}},
		"controlPlane": map[string]any{"machineCount": 3, "machineFlavor": "m1.medium"},
		"nodeGroups":   []any{map[string]any{"name": "md-0", "machineCount": 2, "machineFlavor": "m1.medium"}, map[string]any{"name": "big", "machineCount": 1, "machineFlavor": "m1.large"}}}
	if change != nil {
		change(values)
	}
	text, err := openstackcluster.Render(openstackcluster.Release{Name: "prod", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kube.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestRollout: what Cluster API replaces follows from what the chart makes of the values
// before and after, by group and with the reason.
func TestRollout(t *testing.T) {
	t.Parallel()
	before := rendered(t, nil)
	for name, test := range map[string]struct {
		change func(values map[string]any)
		want   map[string]int
		reason string
	}{
		"nothing":         {nil, map[string]int{}, ""},
		"Kubernetes":      {func(v map[string]any) { v["kubernetesVersion"] = "1.34.4" }, map[string]int{ControlPlane: 3, "md-0": 2, "big": 1}, "Kubernetes v1.33.5 → v1.34.4"},
		"another image":   {func(v map[string]any) { v["machineImageId"] = "to-be-uploaded" }, map[string]int{ControlPlane: 3, "md-0": 2, "big": 1}, "another image"},
		"one more worker": {func(v map[string]any) { group(v, 0)["machineCount"] = 3 }, map[string]int{}, ""},
		"a flavor":        {func(v map[string]any) { group(v, 1)["machineFlavor"] = "m1.xlarge" }, map[string]int{"big": 1}, "another image, flavor or volume"},
		"a label of nodes": {func(v map[string]any) { group(v, 0)["nodeLabels"] = map[string]any{"a.example.org/b": "c"} }, map[string]int{"md-0": 2},
			"another configuration of the node"},
		"an addon": {func(v map[string]any) {
			v["addons"] = map[string]any{"metricsServer": map[string]any{"enabled": false}}
		}, map[string]int{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			groups := Rollout("prod", before, rendered(t, test.change), map[string]int{ControlPlane: 3, "md-0": 2, "big": 1})
			got := map[string]int{}
			for _, g := range groups {
				if g.Replaced > 0 {
					got[g.Name] = g.Replaced
					if !strings.Contains(g.Reason, test.reason) {
						t.Errorf("%s: because of %q", g.Name, g.Reason)
					}
				}
			}
			if !maps.Equal(got, test.want) || len(groups) != 3 || groups[0].Name != ControlPlane {
				t.Errorf("replaced %v, want %v of %+v", got, test.want, groups)
			}
		})
	}
	// Without a look at the machines it is what the objects want.
	for _, g := range Rollout("prod", before, before, nil) {
		if want := map[string]int{ControlPlane: 3, "md-0": 2, "big": 1}[g.Name]; g.Machines != want || g.Replaced != 0 {
			t.Errorf("%+v, want %d machines", g, want)
		}
	}
}

func group(values map[string]any, n int) map[string]any {
	return values["nodeGroups"].([]any)[n].(map[string]any)
}

// run is a run of the log that replaced so many machines in so many minutes.
func run(id string, machines, minutes int, message string) Run {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var text strings.Builder
	for _, e := range []event.Event{
		Forecast{Clusters: []Cluster{{Management: true, Machines: machines, Replaced: machines}}}.Told(began),
		{Time: began, Step: "cluster", State: event.Started},
		{Time: began.Add(time.Duration(minutes) * time.Minute), Step: "cluster", State: event.Done, Message: message, Since: began},
		{Time: began.Add(time.Hour), Step: "other", State: event.Done, Message: "changed", Since: began},
	} {
		line, _ := json.Marshal(e)
		fmt.Fprintf(&text, "%s\n", line)
	}
	return Run{id, []byte(text.String())}
}

// TestTake: as long as in the newest run that replaced machines, else an estimate that says
// so.
func TestTake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		machines int
		runs     []Run
		want     time.Duration
		run      string
	}{
		"known":              {4, []Run{run("b", 2, 6, "changed"), run("a", 1, 60, "changed")}, 12 * time.Minute, "b"},
		"only an older one":  {4, []Run{run("c", 0, 6, "changed"), run("b", 2, 0, "changed"), run("a", 2, 6, "changed")}, 12 * time.Minute, "a"},
		"a creation":         {4, []Run{run("a", 2, 6, "created")}, 9 * time.Minute, ""},
		"one that was ended": {4, []Run{{"a", []byte(`{"step":"forecast","state":"note","total":2,"unit":"machines"}` + "\n{broken")}}, 9 * time.Minute, ""},
		"no log":             {4, nil, 9 * time.Minute, ""},
		"nothing":            {0, nil, 0, ""},
	} {
		got := Take(test.machines, test.runs, "cluster")
		if got.Seconds != test.want.Seconds() || got.Run != test.run || (test.run == "" && test.machines > 0) != strings.Contains(got.Basis, "an estimate of 2m15s for each machine") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLines: for people, with the numbers and the reasons.
func TestLines(t *testing.T) {
	t.Parallel()
	f := Forecast{Seed: "it gets another image",
		Clusters: []Cluster{{Name: "prod", Management: true, Machines: 5, Replaced: 5, Reason: "Kubernetes v1.33.5 → v1.34.4", Kubernetes: &Versions{"1.33.5", "1.34.4"}, Image: &Versions{"aaa", "bbb"},
			Groups: []Group{{"control plane", 3, 3, "r"}, {"md-0", 2, 2, "r"}}}, {Name: "a/a", Machines: 3, Reason: Kept}, {Name: "b/b", Machines: 4, Reason: Kept}},
		Controllers: []Controller{{On: "management cluster", Name: "cluster-api", Versions: Versions{"v1.12.2", "v1.12.3"}}, {On: "seed", Name: "k3s", Versions: Versions{To: "v1"}}},
		Surge:       []Need{{"instances", 2, 6}, {"cores", 4, -1}},
		Duration:    Take(5, nil), Unknown: []string{"the weather"}}
	want := []string{"what is replaced:", "  seed: its server, on the same data; it gets another image", "  management cluster: 5 of 5 machines, one after the other; Kubernetes v1.33.5 → v1.34.4",
		"    Kubernetes 1.33.5 → 1.34.4", "    image aaa → bbb", "    control plane: 3 machines; r", "    md-0: 2 machines; r",
		"  workload clusters: 0 of 7 machines of 2 clusters; " + Kept, "  on the management cluster: cluster-api v1.12.2 → v1.12.3", "  on the seed: k3s (none) → v1",
		"needed meanwhile: 2 instances (6 left), 4 cores (no limit)", "takes about 11m: an estimate of 2m15s for each machine, because no former run in the log replaced any", "not known: the weather"}
	if got := f.Lines(); !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	f = Forecast{Clusters: []Cluster{{Name: "prod", Management: true, Machines: 5, Reason: "nothing of them changes"}}}
	if got := f.Lines(); !slices.Equal(got, []string{"what is replaced:", "  management cluster: 0 of 5 machines; nothing of them changes"}) {
		t.Errorf("of nothing: %q", got)
	}
}

// TestASurgeMustFit in each quota that has a limit.
func TestASurgeMustFit(t *testing.T) {
	t.Parallel()
	f := Forecast{Surge: []Need{{"cores", 4, 4}, {"servers", 2, -1}, {"ports", 2, 1}, {"MiB of memory", 8192, 0}}}
	errs := fault.All(f.Fits())
	if len(errs) != 2 || fault.ExitCode(f.Fits()) != fault.ExitPreflight || !strings.Contains(errs[0].Error(), "ports") || !strings.Contains(fault.Remedy(errs[1]), "8192 more") {
		t.Errorf("%q", errs)
	}
	if err := (Forecast{Surge: f.Surge[:2]}).Fits(); err != nil {
		t.Error(err)
	}
}
