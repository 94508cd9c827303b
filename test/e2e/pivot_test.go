package e2e

import (
	"fmt"
	"strings"
	"time"
)

// pivot has the management cluster look after itself: the objects move there by a
// run that is killed meanwhile and another one, no machine is made anew, and the
// seed is shelved.
func (p *project) pivot() {
	p.t.Helper()
	before := p.servers()
	p.append("  seed: {role: pivot}\n")
	p.killAt(inStep("management-move"), "up", "--yes")
	p.up()
	if again := p.up(); len(again.Report.Changes) != 0 {
		p.t.Errorf("after the move a second run changed %v", again.Report.Changes)
	}
	for kubeconfig, want := range map[string]string{"management.kubeconfig": "default/demo", "seed.kubeconfig": ""} {
		out, err := p.by(kubeconfig, "", "get", "clusters.cluster.x-k8s.io", "-A", "-o", "jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}")
		if err != nil || out != want {
			p.t.Errorf("%s has the clusters %q, not %q: %v", kubeconfig, out, want, err)
		}
	}
	after := p.servers()
	for name, id := range before {
		if after[name] != id {
			p.t.Errorf("server %s was %s, is %q", name, id, after[name])
		}
	}
	if len(after) != len(before) {
		p.t.Errorf("servers were %v, are %v", before, after)
	}
	p.do("seed", "shelve", "--yes")
	if state := p.openstack("server", "show", "demo-seed", "-f", "value", "-c", "status"); state != "SHELVED_OFFLOADED" {
		p.t.Errorf("the seed is %s", state)
	}
}

// scaleAlone has the management cluster take one of its two workers away while
// the seed is shelved: whatever does that runs on the cluster itself.
func (p *project) scaleAlone() {
	p.t.Helper()
	if out, err := p.on("", "scale", "machinedeployments.cluster.x-k8s.io", "demo-md-0", "--replicas=1"); err != nil {
		p.t.Fatalf("scaling: %v\n%s", err, out)
	}
	p.ready(4, 4*time.Minute)
	p.eventually("one server less", time.Minute, func() (string, bool) {
		workers := 0
		for name := range p.servers() {
			if strings.HasPrefix(name, "demo-md-0-") {
				workers++
			}
		}
		return fmt.Sprint(workers), workers == 1
	})
}
