package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

const (
	gophercloudRoot = "github.com/gophercloud/gophercloud/v2/internal/acceptance/openstack/"
	gophercloudTags = "fixtures acceptance"
)

// gophercloudSuite is gophercloud's. Its tests are internal packages of the
// module that go.mod requires; go test runs them from the module cache.
func gophercloudSuite(ctx context.Context, o options) (suite, error) {
	s := suite{name: "gophercloud", title: "gophercloud's acceptance tests", root: gophercloudRoot,
		about: `The acceptance tests of [gophercloud](https://github.com/gophercloud/gophercloud) run unchanged against the sandbox, with the version of go.mod:`,
		args:  []string{"-timeout", "15m", "-tags", gophercloudTags},
		again: []again{
			{"must be a non-admin", (*cloud).demo},
			{"must use system scope", (*cloud).systemAdmin},
		},
		environment: func(c *cloud) map[string]string { return c.environment }}
	var folders []string
	for _, f := range []struct{ folder, name string }{
		{"identity/v3", "Keystone"}, {"compute/v2", "Nova"}, {"networking/v2", "Neutron"}, {"blockstorage/v3", "Cinder"},
		{"image/v2", "Glance"}, {"loadbalancer/v2", "Octavia"}, {"keymanager/v1", "Barbican"}, {"objectstorage/v1", "Swift"},
	} {
		folders = append(folders, f.folder)
		s.services = append(s.services, service{f.name, func(k key) bool { return strings.HasPrefix(k.pkg, f.folder) }})
	}
	var err error
	s.packages, err = listPackages(ctx, folders)
	return s, err
}

// listPackages returns the packages with tests, without root.
func listPackages(ctx context.Context, folders []string) ([]string, error) {
	args := []string{"list", "-tags", gophercloudTags, "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	for _, folder := range folders {
		args = append(args, gophercloudRoot+folder+"/...")
	}
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing gophercloud's packages: %w", err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		packages = append(packages, strings.TrimPrefix(strings.TrimSpace(line), gophercloudRoot))
	}
	return packages, nil
}
