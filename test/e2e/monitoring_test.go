package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

// monitored is monitoring with volumes that can be told from each other.
const monitored = `
  monitoring:
    prometheus: {volumeGiB: 2}
    alertmanager: {volumeGiB: 1}
`

// TestMonitoringOnMachines: a management cluster has Prometheus and Alertmanager with volumes of
// Cinder, which evaluate and deliver alerts. A larger number in the environment file enlarges the
// volume, the claim and the file system below the running program; a smaller one is refused.
func TestMonitoringOnMachines(t *testing.T) {
	if os.Getenv("SLIPWAY_MONITORING") == "" {
		t.Skip("SLIPWAY_MONITORING is not set: run make monitoring-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	p.append(smallManagementCluster + strings.TrimPrefix(monitored, "\n"))
	p.mirror()
	p.timed("up", func() { p.up() })
	p.expectVolumes(map[string]string{"prometheus": "2Gi", "alertmanager": "1Gi"})
	p.timed("alerts", p.expectWatchdog)
	p.replace("prometheus: {volumeGiB: 2}", "prometheus: {volumeGiB: 4}")
	p.timed("a larger volume", func() { p.up() })
	p.expectVolumes(map[string]string{"prometheus": "4Gi", "alertmanager": "1Gi"})
	p.eventually("the larger file system", 5*time.Minute, func() (string, bool) {
		size, err := p.fileSystem("prometheus")
		return fmt.Sprint(size, err), err == nil && size > 3<<30 && size <= 4<<30
	})
	p.expectWatchdog()
	p.replace("prometheus: {volumeGiB: 4}", "prometheus: {volumeGiB: 3}")
	if out, err := p.command("up", "--yes").CombinedOutput(); err == nil || !strings.Contains(string(out), "spec.monitoring.prometheus.volumeGiB: the volume has 4Gi already") {
		t.Errorf("a volume that would shrink: %v\n%s", err, out)
	}
	p.replace("prometheus: {volumeGiB: 3}", "prometheus: {volumeGiB: 4}")
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a further run changed %v", again.Report.Changes)
	}
	p.timed("down", func() { p.goDown() })
}

// expectVolumes wants the claims of monitoring to have these sizes, and Cinder's volumes too.
func (p *project) expectVolumes(want map[string]string) {
	p.t.Helper()
	p.eventually("sizes of the claims", 5*time.Minute, func() (string, bool) {
		out, err := p.on("", "-n", "monitoring-system", "get", "persistentvolumeclaims", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.capacity.storage} {end}`)
		sizes := map[string]string{}
		for claim := range strings.FieldsSeq(out) {
			name, size, _ := strings.Cut(claim, "=")
			sizes[name] = size
		}
		return out, err == nil && maps.Equal(sizes, want)
	})
	names, err := p.on("", "-n", "monitoring-system", "get", "persistentvolumeclaims", "-o", `jsonpath={range .items[*]}{.metadata.name}={.spec.volumeName} {end}`)
	if err != nil {
		p.t.Fatalf("listing claims: %v\n%s", err, names)
	}
	for claim := range strings.FieldsSeq(names) {
		name, volume, _ := strings.Cut(claim, "=")
		if size := p.openstack("volume", "show", volume, "-f", "value", "-c", "size"); size+"Gi" != want[name] {
			p.t.Errorf("the volume of %s has %s GiB in Cinder, want %s", name, size, want[name])
		}
	}
}

// fileSystem is the size in bytes of a claim's file system, as the kubelet of its node sees it.
func (p *project) fileSystem(claim string) (int64, error) {
	node, err := p.on("", "-n", "monitoring-system", "get", "pods", "-l", "app.kubernetes.io/name="+claim, "-o", "jsonpath={.items[0].spec.nodeName}")
	if err != nil {
		return 0, err
	}
	text, err := p.on("", "get", "--raw", "/api/v1/nodes/"+node+"/proxy/stats/summary")
	if err != nil {
		return 0, err
	}
	var stats struct {
		Pods []struct {
			Volume []struct {
				CapacityBytes int64
				PVCRef        struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &stats); err != nil {
		return 0, err
	}
	for _, pod := range stats.Pods {
		for _, volume := range pod.Volume {
			if volume.PVCRef.Name == claim {
				return volume.CapacityBytes, nil
			}
		}
	}
	return 0, nil
}

// expectWatchdog wants alerts that are evaluated and delivered. Others may fire: this
// environment has no backups.
func (p *project) expectWatchdog() {
	p.t.Helper()
	p.eventually("Watchdog", 5*time.Minute, func() (string, bool) {
		out, _ := p.command("check", "alerts", "-o", "json").Output() // fails if others fire
		var shown struct{ Problem string }
		err := json.Unmarshal(out, &shown)
		return string(out), err == nil && shown.Problem == "" && strings.Contains(string(out), `"Watchdog"`)
	})
}
