package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/check"
)

// smallManagementCluster has one node of each kind.
const smallManagementCluster = `
  managementCluster:
    controlPlane: {count: 1}
    nodeGroups: [{name: md-0, count: 1}]
`

// TestConformance runs some of Kubernetes' own tests on a management cluster, from the bundle's
// images, with a folder of results and nothing left. A test that must fail, because the
// cluster has one worker only, is named, and the exit code says so.
//
// proves: S-79
func TestConformance(t *testing.T) {
	if os.Getenv("SLIPWAY_CONFORMANCE") == "" {
		t.Skip("SLIPWAY_CONFORMANCE is not set: run make conformance-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(smallManagementCluster)
	p.mirror()
	p.timed("up", func() { p.up() })
	good, said := p.conformance(true, `Secrets should be consumable from pods in volume \[|Services should serve a basic endpoint|Pods should function for intra-pod communication: http|Watchers should|Namespaces .*should ensure`, "--output-dir", "results")
	if good.Tests == nil || good.Tests.Passed < 5 || good.Tests.Failed != 0 {
		t.Errorf("the tests: %+v", good)
	}
	if !regexp.MustCompile(`[1-9]\d* of 10 ended`).MatchString(said) {
		t.Error("it did not say how far the tests were")
	}
	for name, word := range map[string]string{"e2e.log": "Ran ", "junit_01.xml": "should serve a basic endpoint from pods"} {
		if text, err := os.ReadFile(filepath.Join(p.folder, "results", name)); err != nil || !strings.Contains(string(text), word) {
			t.Errorf("%s: %d bytes without %q, %v", name, len(text), word, err)
		}
	}
	bad, _ := p.conformance(false, `should have at least two untainted nodes|Lease lease API should be available`)
	if bad.Tests == nil || bad.Tests.Failed != 1 || bad.Tests.Passed != 1 || !strings.Contains(bad.Tests.Failures[0], "two untainted nodes") {
		t.Errorf("a test that must fail: %+v", bad)
	}
	left, err := p.on("", "get", "namespaces,clusterrolebindings", "-o", "name")
	if err != nil || slices.ContainsFunc(strings.Fields(left), func(name string) bool {
		return strings.Contains(name, "slipway-check") || strings.Contains(name, "/e2e-") || strings.Contains(name, "-test-")
	}) {
		t.Errorf("left: %v %s", err, left)
	}
	p.timed("down", func() { p.do("down", "--yes") })
}

// conformance runs the check, which is to pass or not.
func (p *project) conformance(passes bool, focus string, args ...string) (result check.Result, progress string) {
	p.t.Helper()
	cmd := p.command(append([]string{"check", "conformance", "-o", "json", "--progress", "json", "--focus", focus}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if (err == nil) != passes || json.Unmarshal(out, &result) != nil || result.Passed != passes {
		p.t.Errorf("check conformance: %v\n%s\n%s", err, out, said.String())
	}
	p.t.Logf("%s", said.String())
	return result, said.String()
}
