package main

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
)

// tofuModule is OpenTofu.
func tofuModule() module {
	return module{"github.com/opentofu/opentofu", "v1.10.10", "h1:ELFHOkY0x/bHvkgBP4KK3i7Y19CSFuHOyeZOLc0cqWY="}
}

// providerModule is its provider for OpenStack.
func providerModule() module {
	return module{"github.com/terraform-provider-openstack/terraform-provider-openstack/v3", "v3.4.0", "h1:Ap8gvameIY5ZM7CMh7fngP/VoIyeupzKX3izoyfp9yg="}
}

// opentofuSuite is that of OpenTofu's provider: each test applies a
// configuration with OpenTofu, changes it, wants an empty plan after each step,
// and destroys it. Both are built from their modules.
func opentofuSuite(ctx context.Context, o options) (suite, error) {
	tofu, provider := tofuModule(), providerModule()
	dir, err := filepath.Abs(filepath.Join(o.builds, "opentofu"))
	if err != nil {
		return suite{}, err
	}
	binary, err := tofu.program(ctx, dir, "tofu", "./cmd/tofu")
	if err != nil {
		return suite{}, err
	}
	if _, err := provider.program(ctx, dir, "terraform-provider-openstack", "."); err != nil {
		return suite{}, err
	}
	source, err := provider.source(ctx, dir)
	if err != nil {
		return suite{}, err
	}
	s := suite{name: "opentofu", title: "The acceptance tests of OpenTofu's provider", root: provider.path + "/", dir: source,
		about: "The acceptance tests of the [OpenStack provider](https://github.com/terraform-provider-openstack/terraform-provider-openstack) of OpenTofu " +
			"and Terraform, " + provider.version + ", run unchanged with OpenTofu " + tofu.version + " against the sandbox; both are built from their Go modules:",
		args: []string{"-timeout", "120m"}, tests: "^TestAcc", packages: []string{"openstack"},
		again: []again{{"requires the demo (non-admin) user", (*cloud).demo}},
		environment: func(c *cloud) map[string]string {
			env := maps.Clone(c.environment)
			maps.Copy(env, map[string]string{"TF_ACC": "1", "TF_ACC_TERRAFORM_PATH": binary, "TF_ACC_PROVIDER_HOST": "registry.opentofu.org",
				"TF_ACC_PROVIDER_NAMESPACE": "hashicorp", "CHECKPOINT_DISABLE": "1", "OS_FLAVOR_NAME": "m1.acctest",
				"OS_LB_ENVIRONMENT": "1", "OS_USE_OCTAVIA": "1", "OS_SWIFT_ENVIRONMENT": "1", "OS_KEYMANAGER_ENVIRONMENT": "1", "OS_ONLINE_RESIZE": "1", "OS_HYPERVISOR_HOSTNAME": "compute-1"})
			return env
		}}
	for _, service := range []struct{ name, tests string }{
		{"Keystone", "Identity"}, {"Nova", "Compute"}, {"Neutron", "Networking"}, {"Cinder", "Block[sS]torage"}, {"Glance", "Images"},
		{"Octavia", "LB"}, {"Barbican", "KeyManager"}, {"Swift", "ObjectStorage"}, {"Magnum", "ContainerInfra"},
	} {
		s.services = append(s.services, nameService(service.name, service.tests))
	}
	return s, nil
}

// nameService has the tests with a word in their names.
func nameService(name, word string) service {
	pattern := regexp.MustCompile("^TestAcc(OpenStack|DataSource)?" + word)
	return service{name, func(k key) bool { return pattern.MatchString(k.test) }}
}
