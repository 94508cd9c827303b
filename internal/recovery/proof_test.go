package recovery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

func TestAWholeRestoreIsProved(t *testing.T) {
	t.Parallel()
	r := restoreIn(t, recoverytest.New("a", "b"), recovery.Scope{})
	checks := recovery.Prove(r.evidence())
	for _, c := range checks {
		if c.State != recovery.Passed || len(c.Findings) > 0 || c.Checked == 0 {
			t.Errorf("%s is %s, %d checked: %v", c.ID, c.State, c.Checked, c.Findings)
		}
	}
	if err := recovery.Err(checks); err != nil {
		t.Error(err)
	}
}

// change is what is wrong with a restore, and what must be found.
type change struct {
	// before is done to the backup, after to what was restored of it.
	before func(*testing.T, *recoverytest.Graph)
	after  func(*testing.T, *restored, *recovery.Evidence)
	check  string
	state  recovery.State
	object string
	cause  string
}

func without(all []snapshot.Resource, id string) []snapshot.Resource {
	return slices.DeleteFunc(slices.Clone(all), func(r snapshot.Resource) bool { return r.ID == id })
}

func remove(r *restored, e *recovery.Evidence, kind, name string) {
	e.Live = slices.DeleteFunc(slices.Clone(e.Live), func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	_ = r
}

func condition(kind, status string) []any {
	return []any{map[string]any{"type": kind, "status": status, "message": "because"}}
}

// changes are the faults that the proofs find, by what is wrong.
func changes() map[string]change {
	server := func(change func(*snapshot.Resource)) func(*testing.T, *restored, *recovery.Evidence) {
		return func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.Servers = slices.Clone(e.Cloud.Servers)
			for i := range e.Cloud.Servers {
				if e.Cloud.Servers[i].ID == "server-a-md-1" {
					change(&e.Cloud.Servers[i])
				}
			}
		}
	}
	live := func(kind, name string, value any, path ...string) func(*testing.T, *restored, *recovery.Evidence) {
		return func(t *testing.T, r *restored, _ *recovery.Evidence) { set(t, r.get(t, kind, name), value, path...) }
	}
	return map[string]change{
		"an object is missing":       {nil, func(_ *testing.T, r *restored, e *recovery.Evidence) { remove(r, e, "KubeadmConfig", "a-md-1") }, "objects", recovery.Refuted, "KubeadmConfig a/a-md-1", "not there"},
		"another object of the name": {nil, live("Machine", "a-md-1", "x", "metadata", "annotations", recovery.AnnotationUID), "objects", recovery.Refuted, "Machine a/a-md-1", "not there"},
		"a status is missing": {nil, func(t *testing.T, r *restored, _ *recovery.Evidence) {
			delete(r.get(t, "OpenStackCluster", "a").Object, "status")
		}, "objects", recovery.Refuted, "OpenStackCluster a/a", "status"},
		"a cluster is not paused": {nil, live("Cluster", "a", false, "spec", "paused"), "paused", recovery.Refuted, "Cluster a/a", "not paused"},
		"an addon is released": {nil, func(t *testing.T, r *restored, _ *recovery.Evidence) {
			recovery.Release(r.get(t, "HelmRelease", "a-cni"))
		},
			"paused", recovery.Refuted, "HelmRelease a/a-cni", "not paused"},
		"an owner is another one": {nil, func(t *testing.T, r *restored, _ *recovery.Evidence) {
			o := r.get(t, "Machine", "a-md-1")
			owners := o.GetOwnerReferences()
			owners[0].UID = "nobody"
			o.SetOwnerReferences(owners)
		}, "owners", recovery.Refuted, "Machine a/a-md-1", "its owner MachineSet a-md is not there"},
		"a dangling owner": {func(_ *testing.T, g *recoverytest.Graph) { g.Drop("OpenStackMachine", "a-md-1") }, nil, "owners", recovery.Refuted, "OpenStackServer a/a-md-1", "its owner OpenStackMachine a-md-1 is not in the backup"},
		"a dangling owner of a Secret": {func(_ *testing.T, g *recoverytest.Graph) {
			g.Find("Secret", "a-files").SetOwnerReferences([]metav1.OwnerReference{{Kind: "Other", Name: "o", UID: "other"}})
		}, nil, "owners", recovery.Warned, "Secret a/a-files", "its owner Other o is not in the backup"},
		"no template":                  {func(_ *testing.T, g *recoverytest.Graph) { g.Drop("OpenStackMachineTemplate", "a-md") }, nil, "references", recovery.Refuted, "MachineDeployment a/a-md", "OpenStackMachineTemplate a/a-md"},
		"no Secret":                    {func(_ *testing.T, g *recoverytest.Graph) { g.Drop("Secret", "a-cloud-credentials") }, nil, "references", recovery.Refuted, "OpenStackCluster a/a", "Secret a/a-cloud-credentials"},
		"no Secret of files":           {func(_ *testing.T, g *recoverytest.Graph) { g.Drop("Secret", "a-files") }, nil, "references", recovery.Refuted, "KubeadmConfigTemplate a/a-md", "Secret a/a-files"},
		"no bootstrap data":            {func(_ *testing.T, g *recoverytest.Graph) { g.Drop("Secret", "a-md-1") }, nil, "references", recovery.Refuted, "Machine a/a-md-1", "Secret a/a-md-1"},
		"no cluster template":          {func(_ *testing.T, g *recoverytest.Graph) { g.Drop("ClusterTemplate", "a-template") }, nil, "references", recovery.Refuted, "Cluster a/a", "ClusterTemplate a/a-template"},
		"a release that is cut off":    {nil, live("Secret", "sh.helm.release.v1.a.v1", "SDRzSUFBQUE=", "data", "release"), "releases", recovery.Refuted, "Secret a/sh.helm.release.v1.a.v1", "release"},
		"a release that is not base64": {nil, live("Secret", "sh.helm.release.v1.a.v1", "?", "data", "release"), "releases", recovery.Refuted, "Secret a/sh.helm.release.v1.a.v1", "base64"},
		"a release of another": {nil, func(t *testing.T, r *restored, _ *recovery.Evidence) {
			other, _, _ := unstructured.NestedString(r.get(t, "Secret", "sh.helm.release.v1.b.v1").Object, "data", "release")
			set(t, r.get(t, "Secret", "sh.helm.release.v1.a.v1"), other, "data", "release")
		}, "releases", recovery.Refuted, "Secret a/sh.helm.release.v1.a.v1", "another"},
		"the cloud does not answer": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { e.Cloud.Unread["a/a"] = "connection refused" }, "cloud", recovery.Refuted, "Cluster a/a", "connection refused"},
		"a project is not known":    {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { delete(e.Cloud.Projects, "a/a") }, "cloud", recovery.Refuted, "Cluster a/a", "not known"},

		"a server is gone": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.Servers = without(e.Cloud.Servers, "server-a-md-1")
		}, "machines", recovery.Refuted, "Machine a/a-md-1", "server-a-md-1 is gone"},
		"a server of the same name and another ID": {nil, server(func(r *snapshot.Resource) { r.ID = "other" }), "machines", recovery.Refuted, "Machine a/a-md-1", "another server other has the name a-md-1"},
		"a server in another project":              {nil, server(func(r *snapshot.Resource) { r.Project = "p2" }), "machines", recovery.Refuted, "Machine a/a-md-1", "is in project p2"},
		"a server of another name":                 {nil, server(func(r *snapshot.Resource) { r.Name = "web" }), "machines", recovery.Refuted, "Machine a/a-md-1", "has the name web"},
		"a server in ERROR":                        {nil, server(func(r *snapshot.Resource) { r.Status = "ERROR" }), "machines", recovery.Refuted, "Machine a/a-md-1", "is ERROR"},
		"a Machine without a server":               {nil, live("Machine", "a-md-1", "", "spec", "providerID"), "machines", recovery.Refuted, "Machine a/a-md-1", "it had no server"},
		"a port is gone": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.Ports = without(e.Cloud.Ports, "port-a-md-1")
		}, "resources", recovery.Refuted, "OpenStackServer a/a-md-1", "port port-a-md-1 is gone"},
		"a load balancer is gone": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.LoadBalancers = without(e.Cloud.LoadBalancers, "lb-a")
		}, "resources", recovery.Refuted, "OpenStackCluster a/a", "load balancer lb-a is gone"},
		"a floating IP is gone": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.FloatingIPs = without(e.Cloud.FloatingIPs, "fip-a")
		}, "resources", recovery.Refuted, "OpenStackCluster a/a", "floating IP address-of-a is gone"},
		"a network is gone": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.Networks = without(e.Cloud.Networks, "net-a")
		}, "resources", recovery.Refuted, "OpenStackCluster a/a", "network net-a is gone"},
		"a router is gone": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.Routers = without(e.Cloud.Routers, "router-a")
		}, "resources", recovery.Refuted, "OpenStackCluster a/a", "router router-a is gone"},
		"a security group is gone": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.SecurityGroups = without(e.Cloud.SecurityGroups, "sg-md-a")
		}, "resources", recovery.Refuted, "OpenStackCluster a/a", "security group sg-md-a is gone"},

		"a deletion since": {nil, live("Machine", "a-md-1", "2026-03-01T04:00:00Z", "metadata", "deletionTimestamp"), "decision", recovery.Refuted, "Machine a/a-md-1", "being deleted: 0 to create, 1 to delete"},
		"a deletion before": {func(_ *testing.T, g *recoverytest.Graph) {
			now := metav1.NewTime(recoverytest.Taken())
			g.Find("Machine", "a-md-1").SetDeletionTimestamp(&now)
		}, nil, "deletions", recovery.Warned, "Machine a/a-md-1", "since 2026-03-01T03:00:00Z"},

		"the new controllers are older":      {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { e.Controllers["cluster-api"] = "v1.12.2" }, "versions", recovery.Refuted, "cluster-api", "it is v1.12.2"},
		"the new controllers are missing":    {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { delete(e.Controllers, "cluster-api") }, "versions", recovery.Refuted, "cluster-api", "has none"},
		"the new controllers are of a minor": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { e.Controllers["cluster-api"] = "v1.13.0" }, "versions", recovery.Refuted, "cluster-api", "it is v1.13.0"},
		"the new controllers are newer":      {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { e.Controllers["cluster-api"] = "v1.12.10" }, "versions", recovery.Warned, "cluster-api", "newer than v1.12.3"},
		"the cloud's clock is wrong":         {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { e.Cloud.ClockOffset = -2 * time.Minute }, "clocks", recovery.Refuted, "clock", "-2m0s"},
		"our clock is wrong":                 {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) { e.Now = recoverytest.Taken().Add(-time.Hour) }, "clocks", recovery.Refuted, "clock", "1h0m0s in the future"},

		"a cluster that the backup does not know": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.LoadBalancers = append(slices.Clone(e.Cloud.LoadBalancers), snapshot.Resource{ID: "x", Name: "k8s-clusterapi-cluster-c-c-kubeapi", Project: "p"})
		}, "strangers", recovery.Warned, "load balancer k8s-clusterapi-cluster-c-c-kubeapi", "does not know"},
		"a machine that the backup does not know": {nil, func(_ *testing.T, _ *restored, e *recovery.Evidence) {
			e.Cloud.Servers = append(slices.Clone(e.Cloud.Servers), snapshot.Resource{ID: "x", Name: "a-md-3", Project: recoverytest.Project})
		}, "strangers", recovery.Warned, "server a-md-3", "cluster a/a has it"},
	}
}

func TestEveryFaultIsFound(t *testing.T) {
	t.Parallel()
	for name, test := range changes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := recoverytest.New("a", "b")
			if test.before != nil {
				test.before(t, g)
			}
			r := restoreIn(t, g, recovery.Scope{})
			e := r.evidence()
			if test.after != nil {
				test.after(t, r, &e)
			}
			found := false
			checks := recovery.Prove(e)
			for _, c := range checks {
				if c.ID != test.check {
					continue
				}
				for _, f := range c.Findings {
					found = found || f.Object == test.object && strings.Contains(f.Cause, test.cause)
				}
				if c.State != test.state || !found {
					t.Errorf("%s is %s: %+v", c.ID, c.State, c.Findings)
				}
			}
			if err := recovery.Err(checks); (err != nil) != (test.state == recovery.Refuted) {
				t.Errorf("the error is %v", err)
			}
			for _, c := range checks { // nothing is found at the other cluster
				for _, f := range c.Findings {
					if strings.Contains(f.Object, " b/") {
						t.Errorf("%s at %s: %s", c.ID, f.Object, f.Cause)
					}
				}
			}
		})
	}
}

// TestTheDryDecision: what the controllers would do, by what is unlike.
func TestTheDryDecision(t *testing.T) {
	t.Parallel()
	live := func(kind, name string, value any, path ...string) func(*testing.T, *restored, *recovery.Evidence) {
		return func(t *testing.T, r *restored, _ *recovery.Evidence) { set(t, r.get(t, kind, name), value, path...) }
	}
	for name, test := range map[string]struct {
		change               func(*testing.T, *restored, *recovery.Evidence)
		object               string
		creations, deletions int
	}{
		"nothing":                              {nil, "", 0, 0},
		"more control planes":                  {live("KubeadmControlPlane", "a", int64(3), "spec", "replicas"), "KubeadmControlPlane a/a", 2, 0},
		"no control plane":                     {live("KubeadmControlPlane", "a", int64(0), "spec", "replicas"), "KubeadmControlPlane a/a", 0, 1},
		"a new version":                        {live("KubeadmControlPlane", "a", "v1.35.0", "spec", "version"), "Machine a/a-cp-1", 1, 1},
		"a new template":                       {live("KubeadmControlPlane", "a", "a-md", "spec", "machineTemplate", "spec", "infrastructureRef", "name"), "Machine a/a-cp-1", 1, 1},
		"more workers":                         {live("MachineDeployment", "a-md", int64(5), "spec", "replicas"), "MachineDeployment a/a-md", 3, 0},
		"fewer workers":                        {live("MachineDeployment", "a-md", int64(0), "spec", "replicas"), "MachineDeployment a/a-md", 0, 2},
		"a set that is larger":                 {live("MachineSet", "a-md", int64(3), "spec", "replicas"), "MachineSet a/a-md", 1, 0},
		"a set that is smaller":                {live("MachineSet", "a-md", int64(1), "spec", "replicas"), "MachineSet a/a-md", 0, 1},
		"workers of a new version":             {live("MachineDeployment", "a-md", "v1.35.0", "spec", "template", "spec", "version"), "MachineSet a/a-md", 2, 2},
		"workers of a new template":            {live("MachineDeployment", "a-md", "a-cp", "spec", "template", "spec", "infrastructureRef", "name"), "MachineSet a/a-md", 2, 2},
		"workers of a new bootstrap":           {live("MachineDeployment", "a-md", "x", "spec", "template", "spec", "bootstrap", "configRef", "name"), "MachineSet a/a-md", 2, 2},
		"a Machine not up to date":             {live("Machine", "a-md-1", condition("UpToDate", "False"), "status", "conditions"), "Machine a/a-md-1", 1, 1},
		"a Machine that is not healthy":        {live("Machine", "a-md-1", condition("HealthCheckSucceeded", "False"), "status", "conditions"), "Machine a/a-md-1", 1, 1},
		"a Machine to be remediated":           {live("Machine", "a-md-1", condition("OwnerRemediated", "False"), "status", "conditions"), "Machine a/a-md-1", 1, 1},
		"a healthy Machine":                    {live("Machine", "a-md-1", condition("HealthCheckSucceeded", "True"), "status", "conditions"), "", 0, 0},
		"a Machine is missing":                 {func(_ *testing.T, r *restored, e *recovery.Evidence) { remove(r, e, "Machine", "a-md-1") }, "MachineSet a/a-md", 1, 0},
		"a lost instance, the server is there": {live("OpenStackServer", "a-md-1", "", "status", "instanceID"), "", 0, 0},
		"a lost instance and no server": {func(t *testing.T, r *restored, e *recovery.Evidence) {
			set(t, r.get(t, "OpenStackServer", "a-md-1"), "", "status", "instanceID")
			e.Cloud.Servers = without(e.Cloud.Servers, "server-a-md-1")
		}, "OpenStackServer a/a-md-1", 1, 0},
		"no OpenStackServer and no server": {func(_ *testing.T, r *restored, e *recovery.Evidence) {
			remove(r, e, "OpenStackServer", "a-md-1")
			e.Cloud.Servers = without(e.Cloud.Servers, "server-a-md-1")
		}, "OpenStackMachine a/a-md-1", 1, 0},
		"a lost load balancer that is there": {live("OpenStackCluster", "a", "", "status", "apiServerLoadBalancer", "id"), "", 0, 0},
		"a lost load balancer": {func(t *testing.T, r *restored, e *recovery.Evidence) {
			set(t, r.get(t, "OpenStackCluster", "a"), "", "status", "apiServerLoadBalancer", "id")
			e.Cloud.LoadBalancers = without(e.Cloud.LoadBalancers, "lb-a")
		}, "OpenStackCluster a/a", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := restoreIn(t, recoverytest.New("a", "b"), recovery.Scope{})
			e := r.evidence()
			if test.change != nil {
				test.change(t, r, &e)
			}
			all := e.Decide()
			if test.object == "" && len(all) > 0 {
				t.Errorf("decided %+v", all)
			}
			if test.object != "" && !slices.ContainsFunc(all, func(d recovery.Decision) bool {
				return d.Object == test.object && d.Creations == test.creations && d.Deletions == test.deletions && d.Cluster == "a/a"
			}) {
				t.Errorf("decided %+v", all)
			}
		})
	}
}

func TestAClusterThatIsLeftPausedStopsNobody(t *testing.T) {
	t.Parallel()
	r := restoreIn(t, recoverytest.New("a", "b"), recovery.Scope{})
	e := r.evidence()
	e.Cloud.Servers = without(e.Cloud.Servers, "server-a-md-1")
	checks := recovery.Prove(e)
	if err := recovery.Err(recovery.Leave(checks, []string{"b/b"})); err == nil {
		t.Error("another cluster is left, and nothing fails")
	}
	if err := recovery.Err(recovery.Leave(checks, []string{"a/a"})); err != nil {
		t.Errorf("it is left, and still: %v", err)
	}
	if err := recovery.Err(checks); err == nil {
		t.Error("Leave changed what it was given")
	}
	e.Controllers["cluster-api"] = "v1.0.0"
	if err := recovery.Err(recovery.Leave(recovery.Prove(e), []string{"a/a", "b/b"})); err == nil || !strings.Contains(err.Error(), "cluster-api") {
		t.Errorf("what is of no cluster: %v", err)
	}
}

func TestServerOfAProviderID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"openstack:///x-1": "x-1", "openstack://region/x-1": "x-1", "aws:///x": "", "": "", "x-1": ""} {
		if got := recovery.ServerID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}
