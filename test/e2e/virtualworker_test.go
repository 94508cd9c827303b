package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// withVirtualWorkers is the section of the environment file: workers of the second group are
// virtual machines. An emulated node can be NotReady for minutes while its images are
// unpacked: the health checks of the chart, five minutes, would replace it before it is done.
const withVirtualWorkers = `
  managementCluster:
    controlPlane: {count: 1, flavor: m1.medium}
    nodeGroups:
      - {name: md-0, count: 1, flavor: m1.medium}
      - {name: virtual, count: 1, flavor: virtual}
    values:
      nodeGroupDefaults:
        healthCheck:
          spec:
            nodeStartupTimeout: 40m
            unhealthyConditions:
              - {type: Ready, status: Unknown, timeout: 15m}
              - {type: Ready, status: "False", timeout: 25m}
`

// joinTime is how long a management cluster with an emulated machine may take from nothing to
// three Ready nodes: 40 to 120 s until SSH, minutes to unpack the images and join. With KVM
// it is a minute.
const joinTime = 30 * time.Minute

// onVirtual is a volume with a pod on one node that mounts it.
const onVirtual = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: virtual}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: virtual}
spec:
  nodeSelector: {kubernetes.io/hostname: %s}
  containers:
    - name: pause
      image: registry.k8s.io/pause:3.10.1
      volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: virtual}}]
`

// joinVirtualMachine gives the environment a management cluster with one virtual machine among
// the containers: its flavor makes it one, with a kernel and a disk of its own. Such a worker
// joins by kubeadm, runs a pod with a Cinder volume, and is deleted.
func (p *project) joinVirtualMachine() {
	p.t.Helper()
	p.openstack("--os-cloud", "sandbox-admin", "flavor", "create", "--public", "--vcpus", "2", "--ram", "4096", "--disk", "20",
		"--property", "slipway:driver=qemu", "virtual")
	p.append(withVirtualWorkers)
	p.timed("up with a virtual machine", func() { p.within(joinTime, "up", "--yes") })
	p.timed("Ready", func() { p.ready(3, joinTime) })
	server, id := p.virtualServer()
	p.expectKernels(server)
	p.expectPatience(server)
	if !runsQEMU(p.t, id) {
		p.t.Errorf("server %s has no QEMU", id)
	}
	p.timed("pod with a volume", func() { p.useVolume(server, id) })
	p.timed("removal", func() {
		p.replace("name: virtual, count: 1", "name: virtual, count: 0")
		p.within(20*time.Minute, "up", "--yes")
		p.ready(2, 10*time.Minute)
		p.eventually("end of the server", 5*time.Minute, func() (string, bool) {
			_, there := p.servers()[server]
			return server, !there
		})
	})
	if runsQEMU(p.t, id) {
		p.t.Errorf("the QEMU of server %s outlives it", id)
	}
}

// within runs slipway for at most the time.
func (p *project) within(limit time.Duration, args ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	cmd := p.command(args...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(unix.SIGINT) }) // it may have ended just now
	defer stop()
	if err := cmd.Wait(); err != nil {
		text := said.String()
		p.t.Fatalf("slipway %s (at most %s): %v\n%s", strings.Join(args, " "), limit, err, text[max(0, len(text)-6000):])
	}
}

// virtualServer is the server of the group, by name and id.
func (p *project) virtualServer() (name, id string) {
	p.t.Helper()
	for name, id := range p.servers() {
		if strings.Contains(name, "virtual") {
			return name, id
		}
	}
	p.t.Fatalf("no server of the group virtual among %v", p.servers())
	return "", ""
}

// expectKernels wants the image's kernel on the virtual machine, and the host's on
// containers.
func (p *project) expectKernels(virtual string) {
	p.t.Helper()
	var host unix.Utsname
	if err := unix.Uname(&host); err != nil {
		p.t.Fatal(err)
	}
	ours := unix.ByteSliceToString(host.Release[:])
	out, err := p.on("", "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kernelVersion}{"\n"}{end}`)
	if err != nil {
		p.t.Fatalf("listing nodes: %v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		name, kernel, _ := strings.Cut(strings.TrimSpace(line), " ")
		if other := kernel != ours; kernel == "" || other != (name == virtual) {
			p.t.Errorf("node %s has kernel %s; the host has %s, and %s is the virtual machine", name, kernel, ours, virtual)
		}
	}
}

// expectPatience wants a kubelet that waits until containerd has unpacked an image: with less
// patience the containers of an emulated node begin again every two minutes.
func (p *project) expectPatience(node string) {
	p.t.Helper()
	var config struct {
		Kubelet struct {
			Timeout string `json:"runtimeRequestTimeout"`
		} `json:"kubeletconfig"`
	}
	out, err := p.on("", "get", "--raw", "/api/v1/nodes/"+node+"/proxy/configz")
	if err == nil {
		err = json.Unmarshal([]byte(out), &config)
	}
	if err != nil || config.Kubelet.Timeout != "15m0s" {
		p.t.Errorf("kubelet of %s gives containerd %q: %v", node, config.Kubelet.Timeout, err)
	}
}

// useVolume runs a pod with a volume on the node, and wants the volume at its server.
func (p *project) useVolume(node, server string) {
	p.t.Helper()
	if out, err := p.on(fmt.Sprintf(onVirtual, node), "apply", "-f", "-"); err != nil {
		p.t.Fatalf("applying: %v\n%s", err, out)
	}
	p.eventually("pod with a volume on the virtual machine", 15*time.Minute, func() (string, bool) {
		out, err := p.on("", "get", "pod", "virtual", "-o", "jsonpath={.status.phase} {.spec.nodeName}")
		return out, err == nil && out == "Running "+node
	})
	if attached := p.openstack("server", "volume", "list", server, "-f", "value", "-c", "Volume ID"); attached == "" {
		p.t.Error("the pod runs, but its server has no volume")
	}
	if out, err := p.on("", "logs", "virtual"); err != nil { // by the API server and the kubelet in the machine
		p.t.Errorf("logs of the pod: %v\n%s", err, out)
	}
	if out, err := p.on("", "delete", "pod/virtual", "pvc/virtual", "--timeout=10m"); err != nil {
		p.t.Errorf("deleting: %v\n%s", err, out)
	}
	p.eventually("detachment of the volume", 10*time.Minute, func() (string, bool) {
		attached := p.openstack("server", "volume", "list", server, "-f", "value", "-c", "Volume ID")
		return attached, attached == ""
	})
}

// runsQEMU looks for the process of a server.
func runsQEMU(t *testing.T, server string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if text, _ := os.ReadFile(line); strings.Contains(string(text), "qemu") && strings.Contains(string(text), server) {
			return true
		}
	}
	return false
}
