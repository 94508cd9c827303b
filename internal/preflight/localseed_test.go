package preflight

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/localseed"
)

// Each obstacle is told once, before anything is made.
func TestALocalSeedWantsAMachine(t *testing.T) {
	t.Parallel()
	good := localseed.Host{Runtime: localseed.Podman, CgroupV2: true, MemoryMiB: 8000, InotifyInstances: 1024, InotifyWatches: 524288}
	with := func(change func(*localseed.Host)) localseed.Host {
		h := good
		change(&h)
		return h
	}
	for name, test := range map[string]struct {
		host  localseed.Host
		image string
		want  []string
	}{
		"good":            {good, "", nil},
		"the own cluster": {with(func(h *localseed.Host) { h.Cluster = "prod@1" }), "", nil},
		"unknown limits":  {with(func(h *localseed.Host) { h.MemoryMiB, h.InotifyInstances, h.InotifyWatches = 0, 0, 0 }), "", nil},
		"root, cgroup v1": {with(func(h *localseed.Host) { h.CgroupV2 = false }), "", nil},
		"none":            {localseed.Host{Problem: "none of [docker] is installed"}, "", []string{"container runtime: the local seed needs one"}},
		"no rights":       {localseed.Host{Runtime: localseed.Docker, Problem: "permission denied", NoRights: true}, "", []string{"docker: you may not use it: permission denied"}},
		"no daemon":       {localseed.Host{Runtime: localseed.Docker, Problem: "is it running?"}, "", []string{"docker: it does not answer: is it running?"}},
		"little memory":   {with(func(h *localseed.Host) { h.MemoryMiB = 2000 }), "", []string{"podman: it has 2000 MiB of memory, the local seed needs 3500 MiB"}},
		"few instances":   {with(func(h *localseed.Host) { h.InotifyInstances = 128 }), "", []string{"fs.inotify.max_user_instances: it is 128, the local seed needs 256"}},
		"few watches":     {with(func(h *localseed.Host) { h.InotifyWatches = 8192 }), "", []string{"fs.inotify.max_user_watches: it is 8192"}},
		"rootless, v1":    {with(func(h *localseed.Host) { h.CgroupV2, h.Rootless = false, true }), "", []string{"cgroup v2: this machine has cgroup v1 only, and rootless podman"}},
		"new kubelet, v1": {with(func(h *localseed.Host) { h.CgroupV2 = false }), "kindest/node:v1.35.1@sha256:0", []string{"cgroup v2: this machine has cgroup v1 only, which Kubernetes v1.35.1 refuses"}},
		"old kubelet, v1": {with(func(h *localseed.Host) { h.CgroupV2 = false }), "kindest/node:v1.34.3", nil},
		"another's":       {with(func(h *localseed.Host) { h.Cluster = "prod@2" }), "", []string{"kind cluster slipway-prod: it belongs to prod@2, not to this environment (prod@1)"}},
		"without a mark":  {with(func(h *localseed.Host) { h.Cluster = "-" }), "", []string{"kind cluster slipway-prod: it belongs to nobody known"}},
		"several at once": {with(func(h *localseed.Host) { h.MemoryMiB, h.InotifyInstances = 1000, 1 }), "", []string{"1000 MiB", "it is 1,"}},
	} {
		spec := "seed: {provider: kind, image: '" + test.image + "'}, managementCluster: {}"
		r := &run{Input: Input{Environment: environment(t, spec), Bundle: Bundle{Kubernetes: "v1.34.4"},
			LocalSeed: &LocalSeed{Host: test.host, Name: "slipway-prod", Owner: "prod@1"}}, id: "local-seed"}
		r.spec, r.seed = &r.Environment.Spec, &r.Environment.Spec.Seed
		checkLocalSeed(r)
		var got []string
		for _, f := range r.result.Findings {
			if f.Level == Error {
				got = append(got, f.Object+": "+f.Cause)
				if f.Remedy == "" {
					t.Errorf("%s: no remedy for %s", name, f.Cause)
				}
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
			continue
		}
		for _, want := range test.want {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s: found %q, want %q", name, got, want)
			}
		}
	}
}

// A local seed needs nothing of the cloud for itself but the group that has the fence.
func TestALocalSeedUsesNoQuota(t *testing.T) {
	t.Parallel()
	spec := "managementCluster: {}"
	needs := func(seed string) map[resource]int {
		r := &run{Input: Input{Environment: environment(t, "seed: {"+seed+"}, "+spec), Snapshot: healthy()}}
		r.spec, r.seed = &r.Environment.Spec, &r.Environment.Spec.Seed
		return r.needs()
	}
	server, local := needs(""), needs("provider: kind")
	total := func(m map[resource]int) (n int) {
		for r, count := range m {
			if r.name == "instances" || r.name == "security_groups" || r.name == "floating_ips" || r.name == "volumes" {
				n += count
			}
		}
		return n
	}
	if group := (resource{cloud.Network, "security_groups"}); total(server)-total(local) != 3 || local[group] != server[group] || local[resource{cloud.Network, "security_group_rules"}] >= server[resource{cloud.Network, "security_group_rules"}] {
		t.Errorf("a server needs %v, a local seed %v", server, local)
	}
}

// What listens on loopback is not there for a container.
func TestALocalSeedWantsACloudThatItReaches(t *testing.T) {
	t.Parallel()
	for at, refused := range map[string]bool{"http://127.0.0.1:5000/v3": true, "http://localhost/v3": true, "http://[::1]:5000": true, "https://10.0.0.1:5000/v3": false, "https://cloud.example": false, "": false} {
		r := &run{Input: Input{Environment: environment(t, "seed: {provider: kind}, managementCluster: {}"), Bundle: Bundle{Kubernetes: "v1.34.4"},
			LocalSeed: &LocalSeed{Host: localseed.Host{Runtime: localseed.Docker, CgroupV2: true}, AuthURL: at}}}
		r.spec, r.seed = &r.Environment.Spec, &r.Environment.Spec.Seed
		checkLocalSeed(r)
		if got := slices.ContainsFunc(r.result.Findings, func(f Finding) bool { return f.Level == Error }); got != refused {
			t.Errorf("%q: refused %t", at, got)
		}
	}
}

// A local seed without volumes, for machines or pods, needs no Cinder.
func TestALocalSeedWithoutVolumes(t *testing.T) {
	t.Parallel()
	const off = "values: {addons: {openstack: {csiCinder: {enabled: false}}}}"
	for settings, refused := range map[string]bool{
		"controlPlane: {count: 3}": true,
		off:                        false,
		"values: {addons: {openstack: {enabled: false}}}":          false,
		"controlPlane: {rootVolume: {sizeGiB: 50}}, " + off:        true,
		"values: {addons: {openstack: {csiCinder: {values: {}}}}}": true,
	} {
		r := check(t, "seed: {provider: kind}, managementCluster: {"+settings+"}", func(s *cloud.Snapshot) { s.Missing = absent(cloud.Volume) })
		if got := slices.Contains(told(r, Error), "services service block-storage: the cloud has no such service"); got != refused {
			t.Errorf("%s: refused for want of Cinder: %t", settings, got)
		}
	}
}
