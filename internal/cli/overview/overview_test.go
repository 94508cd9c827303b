package overview

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

func now() time.Time { return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC) }

// whole is an environment in which all is well, as large as one is.
func whole() Overview {
	r := Overview{Environment: "demo", Cloud: "sandbox"}
	add := func(kind string, count int, state string) {
		for i := range count {
			r.Resources = append(r.Resources, openstack.Resource{Type: kind, ID: "1f9c1dd4-7d0c-4bd2-bd3f-5f2f1d0a7c11",
				Name: fmt.Sprintf("demo-%s-%d-control-plane-9bjpd", strings.ReplaceAll(kind, " ", "-"), i), State: state})
		}
	}
	add(openstack.TypeLoadBalancer, 1, "ACTIVE")
	add(openstack.TypeServer, 5, "ACTIVE")
	add(openstack.TypeFloatingIP, 2, "DOWN")
	add(openstack.TypePort, 7, "ACTIVE")
	add(openstack.TypeVolume, 1, "in-use")
	add(openstack.TypeSecurityGroup, 3, "present")
	r.Seed = []Component{{kindNode, "demo-seed", nodeReady, "v1.33.1+k3s1", now().Add(-time.Hour), true}}
	for i := range 18 {
		r.Seed = append(r.Seed, Component{"Deployment", fmt.Sprintf("capi-system/controller-%d", i), "1/1 available", "v1.12.3", now().Add(-time.Hour), true})
	}
	parts := []clusterapi.Part{{Kind: "Cluster", Name: "demo", State: "Available", Ready: true, Since: now().Add(-5 * time.Minute)},
		{Kind: "OpenStackCluster", Name: "demo", Level: 1, State: "Ready", Ready: true}, {Kind: "KubeadmControlPlane", Name: "demo-control-plane", Level: 1, State: "3 of 3 ready", Ready: true}}
	for i := range 3 {
		parts = append(parts, clusterapi.Part{Kind: "Machine", Name: fmt.Sprintf("demo-control-plane-%d", i), Level: 2, State: "Running", Ready: true})
	}
	for i := range 7 {
		parts = append(parts, clusterapi.Part{Kind: "HelmRelease", Name: fmt.Sprintf("demo-addon-%d", i), Level: 1, State: "Deployed", Ready: true})
	}
	r.Clusters = []Cluster{{"seed", clusterapi.Report{Name: "demo", Exists: true, ControlPlane: clusterapi.Count{Ready: 3, Wanted: 3}, Parts: parts}}}
	return r
}

func printed(t *testing.T, table ui.Table) (lines []string) {
	t.Helper()
	var out bytes.Buffer
	if err := ui.Output(&out, "table", nil, table); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// TestFitsATerminal: what is well takes a line for each kind; --wide has
// everything.
func TestFitsATerminal(t *testing.T) {
	t.Parallel()
	lines := printed(t, whole().Table(false, false, now()))
	if len(lines) > 13 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > ui.Terminal {
			t.Errorf("%d characters: %s", utf8.RuneCountInString(line), line)
		}
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"server          5: demo-server-0", "volume          demo-volume-0", "Node            demo-seed", "18 on the seed",
		"control plane 3/3, workers 0/0, 7 addons  since 5m"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if last := lines[len(lines)-1]; last != "All is well: 19 resources, 18 Deployments on the seed, 1 cluster." {
		t.Errorf("the last line is %q", last)
	}
	wide := printed(t, whole().Table(true, false, now()))
	if want := 1 + 19 + 19 + 13 + 1; len(wide) != want || strings.Count(strings.Join(wide, "\n"), "1f9c1dd4-7d0c-4bd2-bd3f-5f2f1d0a7c11") != 19 {
		t.Errorf("%d lines, want %d:\n%s", len(wide), want, strings.Join(wide, "\n"))
	}
}

// TestTrouble: what is not well has a line of its own, and the last line names
// the first cause.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change     func(*Overview)
		line, last string
	}{
		"a server in ERROR": {func(r *Overview) { r.Resources[1].State = "ERROR" },
			"server          demo-server-0-control-plane-9bjpd", "Not all is well: server demo-server-0-control-plane-9bjpd is ERROR. Run slipway up"},
		"a balancer that changes": {func(r *Overview) { r.Resources[0].State = "PENDING_UPDATE" }, "PENDING_UPDATE", "is PENDING_UPDATE. It may still"},
		"a Deployment": {func(r *Overview) { r.Seed[3].State, r.Seed[3].Ready = "0/1 available", false },
			"Deployment      capi-system/controller-2", "Deployment capi-system/controller-2 on the seed is 0/1 available"},
		"a seed that does not answer": {func(r *Overview) { r.Seed, r.Clusters, r.Unreachable = nil, nil, "no answer in 30s" },
			"incomplete: no answer in 30s", "Not all is well: Kubernetes does not answer: no answer in 30s"},
		"a seed without Kubernetes": {func(r *Overview) { r.Seed, r.Clusters = nil, nil }, "server", "Run slipway up to continue"},
		"a machine": {func(r *Overview) {
			parts := r.Clusters[0].Parts
			parts[0].Ready, parts[0].State, parts[2].Ready, parts[2].State = false, "Provisioned", false, "2 of 3 ready"
			parts[4].Ready, parts[4].State, parts[4].Cause = false, "Pending", "Quota exceeded for cores"
		}, "Pending: Quota exceeded for cores",
			"Not all is well: Machine demo-control-plane-1 of cluster demo is Pending: Quota exceeded for cores. Run slipway cluster describe"},
		"a server that only Nova knows to be gone": {func(r *Overview) {
			r.Clusters[0].Findings = []cause.Finding{{Object: cause.Ref{Kind: "server", Name: "demo-control-plane-1"}, Cause: "Nova has no server with the id 7", Source: "Nova", Ending: cause.Final}}
		}, "Cluster", "Not all is well: server demo-control-plane-1: Nova has no server with the id 7 (says Nova). Run slipway why"},
		"a port that is down for a moment": {func(r *Overview) {
			r.Clusters[0].Findings = []cause.Finding{{Object: cause.Ref{Kind: "port", Name: "p"}, Cause: "it is DOWN", Source: "Neutron", Ending: cause.Passing}}
		}, "Cluster", "All is well"},
		"drift": {func(r *Overview) { r.Drift = []engine.Change{{Name: "router", Operation: engine.Delete}} }, "drift: router is gone", "router differs from the state. Run slipway up"},
		"drift of what is removed": {func(r *Overview) {
			r.Drift = []engine.Change{{Name: "router", Operation: engine.Update, Properties: []engine.Property{{Path: "externalNetworkId", Old: "ext"}}}}
		}, "drift: router: externalNetworkId is (none), should be ext", "router differs from the state. Run slipway up"},
		"drift of a document": {func(r *Overview) {
			r.Drift = []engine.Change{{Name: "magnum", Operation: engine.Update, Properties: []engine.Property{{Path: "authority", Old: "-----BEGIN CERTIFICATE-----\nMIIB\n", New: "x"}}}}
		}, "drift: magnum: authority is x, should be -----BEGIN CERTIFICATE-----...", "magnum differs from the state. Run slipway up"},
		"a shelved seed": {func(r *Overview) { r.Seed, r.Unreachable, r.shelved = nil, errShelved.Error(), true },
			"Cluster", "All that can be checked is well. The seed is shelved"},
		"nothing": {func(r *Overview) { *r = Overview{Environment: "demo", Cloud: "sandbox"} }, "", "Cloud sandbox has nothing of demo. Run slipway up to create it."},
		"trouble below comes first": {func(r *Overview) {
			r.Resources[1].State, r.Seed[3].Ready = "ERROR", false
		}, "ERROR", "is ERROR. Run slipway up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := whole()
			test.change(&r)
			lines := printed(t, r.Table(false, false, now()))
			if text := strings.Join(lines, "\n"); !strings.Contains(text, test.line) {
				t.Errorf("no %q in\n%s", test.line, text)
			}
			if last := lines[len(lines)-1]; !strings.Contains(last, test.last) {
				t.Errorf("the last line is %q", last)
			}
		})
	}
}

// TestManyClusters: a management cluster with hundreds does not scroll away.
func TestManyClusters(t *testing.T) {
	t.Parallel()
	r := whole()
	for i := range 100 {
		r.Clusters = append(r.Clusters, Cluster{"management", clusterapi.Report{Name: fmt.Sprintf("shop-%d", i), Exists: true,
			Parts: []clusterapi.Part{{Kind: "Cluster", State: "Available", Ready: true}}}})
	}
	lines := printed(t, r.Table(false, false, now()))
	if text := strings.Join(lines, "\n"); len(lines) > 40 || !strings.Contains(text, "81 more") {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
}

// A management cluster without a seed is not trouble; one that is not there yet is.
func TestNoSeedIsNoTrouble(t *testing.T) {
	t.Parallel()
	some := []openstack.Resource{{Type: "network", State: "ACTIVE"}}
	for note, well := range map[string]bool{target.NoSeed: true, "the local seed is at work": false, "": false} {
		r := Overview{Environment: "demo", Resources: some, Note: note}
		if said := r.Verdict(time.Now()); strings.HasPrefix(said, "All is well: 1 resource, 0 clusters.") != well {
			t.Errorf("%q: %s", note, said)
		}
	}
}

// TestTheConsolesAddress is told as long as there is one.
func TestTheConsolesAddress(t *testing.T) {
	t.Parallel()
	r := whole()
	told := func() string { return strings.Join(r.Table(false, false, now()).Footer, "\n") }
	if text := told(); strings.Contains(text, "console") {
		t.Errorf("without a console: %s", text)
	}
	r.Console = "https://clusters.example"
	if text := told(); !strings.Contains(text, "console for tenants: https://clusters.example/") {
		t.Errorf("with one: %s", text)
	}
}
