package config

import (
	"slices"
	"strings"
	"testing"
)

func TestSettingsOfALocalSeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"least":    {"seed: {provider: kind}, managementCluster: {}", nil},
		"image":    {"seed: {provider: kind, image: 'kindest/node:v1.34.3', ssh: {keyPair: k, identityFile: f}, k3s: {podCIDR: 10.9.0.0/16}}, managementCluster: {}", nil},
		"a server": {"seed: {provider: openstack, flavor: m1, role: pivot}, managementCluster: {}", nil},
		"unknown":  {"seed: {provider: minikube}, managementCluster: {}", []string{"seed.provider"}},
		"nothing":  {"seed: {provider: kind}", []string{"spec.seed.provider: a local seed is deleted when it has made the management cluster, but there is none"}},
		"of a server": {"seed: {provider: kind, role: permanent, flavor: m1, dataVolume: {sizeGiB: 60}, floatingIP: {mode: none}, rootVolume: {}, k3s: {config: {a: b}}}, managementCluster: {}",
			[]string{"seed.role: this has no effect", "seed.flavor: ", "seed.dataVolume: ", "seed.floatingIP: ", "seed.rootVolume: ", "seed.k3s.config: "}},
	} {
		_, err := layers(head + "spec: {" + test.spec + "}\n")
		got := lines(err)
		if len(got) != len(test.want) {
			t.Errorf("%s: told %q, want %q", name, got, test.want)
			continue
		}
		for _, want := range test.want {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s: told %q, want %q", name, got, want)
			}
		}
	}
}
