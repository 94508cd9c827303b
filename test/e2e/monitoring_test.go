package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// monitored is monitoring with volumes that can be told from each other. Its file systems are XFS,
// which grows also on hosts without CAP_SYS_RESOURCE; ext4 in a container does not
// (docs/operations/monitoring.md).
const monitored = `
    values: {addons: {openstack: {csiCinder: {additionalStorageClasses: [{name: xfs, fstype: xfs}]}}}}
  monitoring:
    storageClass: xfs
    prometheus: {volumeGiB: 2}
    alertmanager: {volumeGiB: 1}
    logs: {volumeGiB: 2}
`

// TestMonitoringOnMachines: a management cluster has Prometheus, Alertmanager and Loki with volumes
// of Cinder, which evaluate and deliver alerts and keep the logs of pods. A larger number in the environment file enlarges the
// volume, the claim and the file system below the running program; a smaller one is refused.
//
// proves: F51, F102
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
	p.expectVolumes(map[string]string{"prometheus": "2Gi", "alertmanager": "1Gi", "loki": "2Gi"})
	p.timed("alerts", p.expectWatchdog)
	p.timed("logs", p.expectLogs)
	p.replace("prometheus: {volumeGiB: 2}", "prometheus: {volumeGiB: 4}")
	p.replace("logs: {volumeGiB: 2}", "logs: {volumeGiB: 3}")
	p.timed("larger volumes", func() { p.up() })
	p.expectVolumes(map[string]string{"prometheus": "4Gi", "alertmanager": "1Gi", "loki": "3Gi"})
	for claim, gib := range map[string]int64{"prometheus": 4, "loki": 3} {
		p.eventually("the larger file system of "+claim, 5*time.Minute, func() (string, bool) {
			size, err := p.fileSystem(claim)
			return fmt.Sprint(size, err), err == nil && size > (gib-1)<<30 && size <= gib<<30
		})
	}
	p.expectWatchdog()
	p.expectLogs()
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

// expectLogs wants lines of every node's pods in Loki, of controllers and of static pods.
func (p *project) expectLogs() {
	p.t.Helper()
	const query = `sum by (k8s_node_name, k8s_namespace_name) (count_over_time({k8s_namespace_name=~"kube-system|capi-system"}[1h]))`
	p.eventually("logs", 5*time.Minute, func() (string, bool) {
		nodes, err := p.on("", "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
		if err != nil {
			return nodes, false
		}
		out, err := p.on("", "get", "--raw", "/api/v1/namespaces/monitoring-system/services/http:loki:3100/proxy/loki/api/v1/query?query="+url.QueryEscape(query))
		for node := range strings.FieldsSeq(nodes) {
			if !strings.Contains(out, fmt.Sprintf("%q", node)) {
				return out, false
			}
		}
		return out, err == nil && strings.Contains(out, `"capi-system"`)
	})
	out, err := p.command("logs", "--pods", "kube-system/etcd", "--lines", "3").CombinedOutput()
	if err != nil || strings.Count(string(out), " etcd ") != 3 {
		p.t.Errorf("logs of etcd: %v\n%s", err, out)
	}
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
