package config

import "k8s.io/apimachinery/pkg/util/validation/field"

// ofServer are the settings of a seed that is a server, below spec.seed.
func ofServer() []string {
	return []string{"role", "flavor", "availabilityZone", "provisioningNetwork", "floatingIP", "access", "rootVolume", "dataVolume",
		"ssh.user", "ssh.authorizedKeys", "k3s.config"}
}

// localSeed refuses what has no effect on a local seed, and a local seed with nothing to make.
func (v *validator) localSeed(e *Environment) {
	if !e.Spec.Seed.IsLocal() {
		return
	}
	if e.Spec.ManagementCluster == nil {
		v.add(field.NewPath("spec", "seed", "provider"), "add spec.managementCluster, or use a seed in OpenStack", "a local seed is deleted when it has made the management cluster, but there is none")
	}
	for _, name := range ofServer() {
		if v.given("spec.seed." + name) {
			v.add(field.NewPath("spec", "seed").Child(name), "remove it", "this has no effect with provider: kind: it is a setting of a seed server")
		}
	}
}
