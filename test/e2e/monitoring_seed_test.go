package e2e

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestMonitoringOnSeed: an environment without a management cluster has Prometheus, Alertmanager and
// Loki on its seed, which evaluate and deliver alerts and keep the logs of pods, but for alerts that
// are about several nodes. Records are on the seed's data volume, and stay when monitoring goes and
// its claims are deleted; a further installation has them.
func TestMonitoringOnSeed(t *testing.T) {
	if os.Getenv("SLIPWAY_MONITORING") == "" {
		t.Skip("SLIPWAY_MONITORING is not set: run make monitoring-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	const on = "  monitoring: {prometheus: {volumeGiB: 2}}\n"
	p.append(on)
	p.mirror()
	p.timed("up", func() { p.up() })
	p.timed("alerts", p.expectWatchdog)
	p.timed("logs", p.expectSeedLogs)
	for program, path := range map[string]string{"loki": "/ready", "prometheus": "/-/ready", "alertmanager": "/-/ready"} {
		p.expectOpen(program, path)
	}
	rules, err := p.by("seed.kubeconfig", "", "-n", "monitoring-system", "get", "configmap", "prometheus", "-o", "jsonpath={.data}")
	if err != nil || !strings.Contains(rules, "SlipwayControllerDown") || !strings.Contains(rules, "NodeDiskFull") || strings.Contains(rules, "EtcdNoLeader") {
		t.Errorf("rules on the seed (%v):\n%s", err, rules)
	}
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a further run changed %v", again.Report.Changes)
	}
	p.replace(on, "")
	p.timed("removal", func() { p.up() })
	p.eventually("the end of the pods", 3*time.Minute, func() (string, bool) {
		left, err := p.by("seed.kubeconfig", "", "get", "pods", "-A", "-l", "app.kubernetes.io/part-of=slipway-monitoring", "-o", "name")
		return left, err == nil && left == ""
	})
	for name, server := range p.servers() {
		if kept, err := p.inside(server, "ls /var/lib/rancher/k3s/monitoring/prometheus/data /var/lib/rancher/k3s/monitoring/loki/data"); err != nil || !strings.Contains(kept, "wal") {
			t.Errorf("records on %s (%v): %s", name, err, kept)
		}
	}
	if out, err := p.by("seed.kubeconfig", "", "delete", "namespace", "monitoring-system", "--timeout=2m"); err != nil {
		t.Fatalf("deleting the claims: %v\n%s", err, out)
	}
	p.append(on)
	p.timed("the second installation", func() { p.up() })
	p.timed("alerts of it", p.expectWatchdog)
	p.timed("down", func() { p.goDown() })
}

// expectSeedLogs wants lines of Slipway's own controllers and of Cluster API in Loki.
func (p *project) expectSeedLogs() {
	p.t.Helper()
	for _, pods := range []string{"capi-system/capi-controller-manager", "kube-system/coredns"} {
		p.eventually("logs of "+pods, 5*time.Minute, func() (string, bool) {
			out, err := p.command("logs", "--pods", pods, "--lines", "2").CombinedOutput()
			return string(out), err == nil && strings.Count(string(out), " demo-seed ") == 2
		})
	}
}
