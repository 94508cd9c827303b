package main

import "slices"

// part is something that proves rows: a target of the Makefile.
type part struct {
	name, target string
	// what says what it does, for the list.
	what string
	// ci says that CI runs it with every change. The others run only by hand.
	ci bool
}

// parts are all of them, in the order in which they run; where several run a
// test, the first stands for it.
func parts() []part {
	return []part{
		{"test", "test", "go vet and the quick tests", true},
		{"e2e", "e2e", "the bundle, tests on real API servers and on machines", true},
		{"plugins", "plugins-test", "the devstack plugin and Tacker, on real API servers", false},
		{"guarded", "guarded-programs", "tests without machines that ask for SLIPWAY_PROOFS=1", false},
		{"guarded-machines", "guarded-machines", "those on machines, but for the next three", false},
		{"long-life", "long-life-test", "the long life of a management cluster, on machines", false},
		{"disasters", "disaster-test", "parts of an environment are lost, then all of one, on machines", false},
		{"kind", "kind-test", "an environment whose seed is a container of Podman", false},
		{"clients", "clients-test", "Debian's clients, and the collection with two versions of ansible-core", false},
		{"fuzz", "fuzz", "each fuzz target for a minute", false},
		{"gophercloud", "gophercloud-acceptance", "gophercloud's own tests on a sandbox", false},
		{"opentofu", "opentofu-acceptance", "those of OpenTofu's provider, and its Magnum resources", false},
		{"tosca", "tosca", "packages for Tacker, read by tosca-parser with ETSI's definitions, which you give", false},
		{"adopt-originals", "adopt-originals", "releases of capi-helm-charts' own charts, which you give, are adopted", false},
		{"adopt-operators", "adopt-operators", "releases of azimuth-ops' own charts, which you give, are adopted", false},
		{"mutate", "mutate", "changed conditions and results, 40 of each package, must be noticed by tests", false},
		{"fleet", "bench-fleet", "the Magnum endpoint, its controllers and the addon provider with many clusters", false},
		{"reproducible", "reproduced", "a release in two clones, the same byte for byte", false},
		{"platforms", "platforms", "all of go vet, also for the platforms of a release that CI does not build for", false},
		{"console", "console-test", "the console in Chromium, with axe-core and server-sent events", false},
		{"console-machines", "console-machines", "the tenants' console in Chromium, for clusters on machines of the sandbox", false},
		{"magnum-databases", "magnum-databases", "databases that Magnum itself makes, and what its API answers on them", false},
		{"upgrade", "upgrade-test", "an environment of an older Slipway becomes this one, on machines", false},
		{"monitoring", "monitoring-test", "Monitoring of the bundle: its programs beside a real API server, and on machines of the sandbox", false},
		{"conformance", "conformance-test", "Kubernetes' own tests, some of them, on a management cluster of the sandbox", false},
		{"autoscaler", "autoscaler-test", "cluster-autoscaler, which you give, scales a tenant's group from nothing and back", false},
		{"ingress", "ingress-test", "Traefik of the bundle, with an Ingress and a Gateway, on machines of the sandbox", false},
		{"addons", "addons-test", "optional addons of the bundle, Flux among them, one at a time on machines of the sandbox", false},
		{"cilium", "cilium-test", "Cilium of the bundle in the place of flannel and kube-proxy, on machines of the sandbox", false},
		{"calico", "calico-test", "Calico, whose sources you give, in the place of flannel, on machines of the sandbox", false},
		{"velero", "velero-test", "Velero of the bundle, on a real API server with a real S3 server", false},
		{"machines", "devcloud-machines", "a seed in a guest of a real Nova, by an older Slipway and then by this one", false},
		{"guests", "devcloud-guests", "a management cluster of guests of a real Nova, with a volume of Cinder", false},
		{"horizon", "devcloud-horizon", "Horizon's panels for Magnum on Slipway's endpoint, in Chromium", false},
		{"tacker", "devcloud-tacker", "the devstack plugin with OpenStack's own Tacker, which you give", false},
		{"moving", "devcloud-moving", "clusters of Debian's Magnum move to Slipway and back, with a real k3s and Cluster API", false},
		{"devcloud", "devcloud-test", "the contract suite, an environment, the devstack plugin and Magnum on a real OpenStack", false},
	}
}

// choose are the parts with these names, or all that CI does not run.
func choose(names []string) (chosen []part, unknown []string) {
	for _, p := range parts() {
		if slices.Contains(names, p.name) || len(names) == 0 && !p.ci {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(parts(), func(p part) bool { return p.name == name }) {
			unknown = append(unknown, name)
		}
	}
	return chosen, unknown
}

// by says who runs a part.
func (p part) by() string {
	if p.ci {
		return "CI"
	}
	return "by hand"
}

// realVariables are what `make e2e` gives to tests: the bundle, programs and clients of Debian's release.
func realVariables() []string {
	return []string{"SLIPWAY_BUNDLE", "SLIPWAY_CLIENTS", "SLIPWAY_PROMETHEUS", "SLIPWAY_S3_SERVER", "SLIPWAY_TACKERCLIENT"}
}

// realFolders are those whose tests `make e2e` runs with them, in one go; test/e2e has a line
// of its own.
func realFolders() []string {
	return []string{"addons", "images", "internal", "stacks", "test/adopting", "test/devcloud/capo", "test/lostcredential", "test/moving"}
}
