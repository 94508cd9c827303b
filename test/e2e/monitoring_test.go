package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
// of Cinder, which evaluate and deliver alerts and keep the logs of pods. No pod of others reaches
// them. A larger number in the environment file enlarges the volume, the claim and the file system
// below the running program; a smaller one is refused.
//
// proves: F42, F51, F102
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
	p.mirror("--dir", whoamiBundle(t))
	p.timed("up", func() { p.up() })
	p.expectVolumes(map[string]string{"prometheus": "2Gi", "alertmanager": "1Gi", "loki": "2Gi"})
	p.timed("alerts", p.expectWatchdog)
	p.timed("logs", p.expectLogs)
	p.timed("NetworkPolicies", p.expectClosed)
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

// expectLogs wants lines of every node's pods in Loki, of static pods and of controllers.
func (p *project) expectLogs() {
	p.t.Helper()
	p.eventually("logs", 5*time.Minute, func() (string, bool) {
		nodes, err := p.on("", "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
		if err != nil {
			return nodes, false
		}
		out, err := p.command("logs", "--pods", "kube-system", "--lines", "5000").CombinedOutput()
		for node := range strings.FieldsSeq(nodes) {
			if !strings.Contains(string(out), " "+node+" ") {
				return fmt.Sprintf("no line of %s (%v)", node, err), false
			}
		}
		more, unread := p.command("logs", "--pods", "capi-system/capi-controller-manager", "--lines", "2").CombinedOutput()
		return string(more), err == nil && unread == nil && strings.Count(string(more), " manager ") == 2
	})
	out, err := p.command("logs", "--pods", "kube-system/etcd", "--lines", "3").CombinedOutput()
	if err != nil || strings.Count(string(out), " etcd ") != 3 {
		p.t.Errorf("logs of etcd: %v\n%s", err, out)
	}
}

// expectClosed wants no pod of either node to reach what asks for no login, while they reach each
// other, and `slipway open` to lead there.
func (p *project) expectClosed() {
	p.t.Helper()
	nodes, err := p.on("", "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil || len(strings.Fields(nodes)) != 2 {
		p.t.Fatalf("nodes: %s (%v)", nodes, err)
	}
	p.applies(fmt.Sprintf(pair, "one", strings.Fields(nodes)[0]) + "---" + fmt.Sprintf(pair, "two", strings.Fields(nodes)[1]))
	p.asksFrom("one", "two.default", func(told string) bool { return told == "two" })
	p.asksFrom("two", "one.default", func(told string) bool { return told == "one" })
	metrics, err := p.on("", "-n", "monitoring-system", "get", "pods", "-l", "app.kubernetes.io/name=kube-state-metrics", "-o", "jsonpath={.items[0].status.podIP}")
	if err != nil {
		p.t.Fatalf("kube-state-metrics: %v\n%s", err, metrics)
	}
	for _, host := range []string{"loki.monitoring-system:3100", "prometheus.monitoring-system:9090", "alertmanager.monitoring-system:9093", metrics + ":8080"} {
		for _, by := range []string{"one", "two"} {
			// They listen, as logs and alerts have shown: who refuses is the network.
			if told, err := p.asks(by, host); err != nil || !strings.Contains(told, "Client.Timeout exceeded") && !strings.Contains(told, "connection refused") {
				p.t.Errorf("%s was told by %s: %q (%v)", by, host, told, err)
			}
		}
	}
	for program, path := range map[string]string{"loki": "/ready", "prometheus": "/-/ready", "alertmanager": "/-/ready"} {
		p.expectOpen(program, path)
	}
}

// expectOpen wants `slipway open` to print the address of a program, which says that it is ready.
func (p *project) expectOpen(program, path string) {
	p.t.Helper()
	cmd := p.command("open", program)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("slipway open %s, stopped: %v", program, err)
		}
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Errorf("slipway open %s prints no address: %v", program, err)
		return
	}
	response, err := http.Get(strings.TrimSpace(address) + path)
	if err != nil {
		p.t.Errorf("%s: %v", program, err)
		return
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		p.t.Errorf("%s%s: %s", address, path, response.Status)
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
