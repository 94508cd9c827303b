package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/e2e/imagebundle"
)

// scaling are the values of a cluster with a group that has no machine until a pod asks for
// one. The autoscaler decides in seconds what takes it ten minutes by default.
const scaling = `
controlPlane: {machineCount: 1}
nodeGroups:
  - {name: md-0, machineCount: 1}
  - {name: burst, autoscale: true, machineCountMin: 0, machineCountMax: 2, machineFlavor: m1.medium}
autoscaler:
  extraArgs:
    scan-interval: 5s
    scale-down-unneeded-time: 20s
    scale-down-delay-after-add: 20s
    scale-down-delay-after-delete: 5s
    unremovable-node-recheck-timeout: 20s
    max-node-provision-time: 20m
`

// bursting is a Deployment whose pods need a node of the group each.
const bursting = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: burst}
spec:
  replicas: 1
  selector: {matchLabels: {app: burst}}
  template:
    metadata: {labels: {app: burst}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {capi.stackhpc.com/node-group: burst}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: burst}}}
      containers: [{name: pause, image: "registry.k8s.io/pause:3.10.1", resources: {requests: {cpu: 100m}}}]
`

// TestAutoscaling has Kubernetes' cluster-autoscaler, which you give, make machines of a group
// that has none while pods wait for a node, one more, and no more than its maximum, and delete
// all of them when the pods are gone.
//
// proves: F79
func TestAutoscaling(t *testing.T) {
	program := os.Getenv("SLIPWAY_AUTOSCALER")
	if program == "" {
		t.Skip("SLIPWAY_AUTOSCALER names no program: run make autoscaler-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(smallManagementCluster)
	p.mirror("--dir", programBundle(t, imagebundle.Image{Ref: "registry.k8s.io/autoscaling/cluster-autoscaler", Version: "v1.34.0",
		Files: map[string]string{"/cluster-autoscaler": program}, Entrypoint: []string{"/cluster-autoscaler"}}))
	p.timed("up", func() { p.up() })
	p.enlargeQuota()
	values := filepath.Join(p.folder, "values.yaml")
	if err := os.WriteFile(values, []byte(scaling), 0o600); err != nil {
		t.Fatal(err)
	}
	p.timed("the cluster", func() { p.do("cluster", "create", "shop", "--wait", "ready", "-f", values) })
	kubeconfig := p.keep(filepath.Join("clusters", "shop.kubeconfig"))
	// While the cluster starts, its own pods wait for a node too, and may have got one here.
	p.timed("none without a pod", func() { p.bursted(0) })
	apply := func(args ...string) {
		t.Helper()
		if out, err := p.by(kubeconfig, bursting, args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	p.timed("from none to one", func() {
		apply("apply", "-f", "-")
		p.bursts(kubeconfig, 1)
	})
	p.timed("from one to two", func() {
		apply("scale", "deployment", "burst", "--replicas", "2")
		p.bursts(kubeconfig, 2)
	})
	apply("scale", "deployment", "burst", "--replicas", "3")
	time.Sleep(30 * time.Second) // the autoscaler looks every five
	if now := p.burst(); now != 2 {
		t.Errorf("the maximum is 2, and the group has %d machines", now)
	}
	p.timed("from two to none", func() {
		apply("delete", "deployment", "burst")
		p.bursted(0)
	})
	p.timed("delete", func() { p.do("cluster", "delete", "shop", "--yes") })
	p.timed("down", func() { p.do("down", "--yes") })
}

// burst is how many servers the group has.
func (p *project) burst() (count int) {
	p.t.Helper()
	for _, server := range p.of("shop-") {
		if strings.Contains(server, "burst") {
			count++
		}
	}
	return count
}

// bursted waits until the group has so many servers.
func (p *project) bursted(want int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("the group has %d servers", want), 10*time.Minute, func() (string, bool) {
		now := p.burst()
		return fmt.Sprintf("%d machines", now), now == want
	})
}

// bursts waits until so many pods run, each on a machine of the group.
func (p *project) bursts(kubeconfig string, want int) {
	p.t.Helper()
	p.eventually("pods run", 15*time.Minute, func() (string, bool) {
		out, err := p.by(kubeconfig, "", "get", "pods", "-l", "app=burst", "--no-headers", "-o", "wide")
		return out, err == nil && strings.Count(out, " Running ") == want
	})
	if now := p.burst(); now != want {
		p.t.Errorf("%d pods run, and the group has %d machines", want, now)
	}
}

// programBundle is a bundle with nothing but one image.
func programBundle(t *testing.T, image imagebundle.Image) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	if err := imagebundle.Write(t.Context(), dir, image); err != nil {
		t.Fatal(err)
	}
	return dir
}
