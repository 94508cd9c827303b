package machines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// twoGuests is the section of the environment file: one control plane and one worker. While
// three guests share two processors without KVM, a node can be NotReady for longer than the
// health checks wait: they would replace it before it is done. Nor does a control plane start
// within the four minutes that kubeadm gives it.
const twoGuests = `
  managementCluster:
    controlPlane: {count: 1, flavor: m1.medium}
    nodeGroups:
      - {name: md-0, count: 1, flavor: m1.medium}
    values:
      controlPlane:
        healthCheck: {enabled: false}
        kubeadmConfigSpec: {initConfiguration: {timeouts: {controlPlaneComponentHealthCheckSeconds: 1800}}}
      nodeGroupDefaults: {healthCheck: {enabled: false}}
`

// claim is a volume of Cinder with a pod on a worker that writes to it.
const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers:
    - name: pause
      image: registry.k8s.io/pause:3.10.1
      volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// TestManagementClusterOfGuests takes an environment with a management cluster from an empty
// project to two nodes in guests. They reach each other and the cloud's API by OVN's network, and
// their API is behind a load balancer of Octavia with a floating IP.
func TestManagementClusterOfGuests(t *testing.T) {
	r := newRun(t)
	before := r.Counts()
	r.step("init", func() {
		r.InitSeed("real")
		r.Edit(func(text string) string { return text + strings.TrimPrefix(twoGuests, "\n") })
	})
	r.step("up", r.up)
	r.step("the nodes", r.everyNode)
	r.step("a pod with a volume", r.volume)
	r.step("plan", r.nothingToDo)
	r.step("down", func() { r.Do("down", "--yes") })
	r.nothingLeft(before)
}

// everyNode wants two nodes that are Ready, with the kernel of the image, which is not the
// host's, and as many guests as servers.
func (r *run) everyNode() {
	r.T.Helper()
	var seen string
	r.Eventually("two Ready nodes", 20*time.Minute, func() bool {
		out, err := r.kubectl("", "get", "nodes", "--no-headers")
		seen = out
		return err == nil && strings.Count(out, " Ready ") == 2
	})
	r.T.Log(seen)
	kernels, err := r.kubectl("", "get", "nodes", "-o", `jsonpath={range .items[*]}{.status.nodeInfo.kernelVersion}{"\n"}{end}`)
	if err != nil || strings.Count(kernels, "-cloud-amd64") != 2 {
		r.T.Errorf("the kernels of the nodes: %v\n%s", err, kernels)
	}
	if guests := strings.Fields(r.inside("virsh", "list", "--name")); len(guests) != 3 {
		r.T.Errorf("the guests are %v, want the seed and two nodes", guests)
	}
}

// volume has a pod wait for a volume of Cinder that Nova attaches to its guest, and asks for
// the pod's log, which comes by the load balancer, the API server and the kubelet.
func (r *run) volume() {
	r.T.Helper()
	if out, err := r.kubectl(claim, "apply", "-f", "-"); err != nil {
		r.T.Fatalf("applying: %v\n%s", err, out)
	}
	r.Eventually("a pod with a volume", 15*time.Minute, func() bool {
		out, err := r.kubectl("", "get", "pod", "user", "-o", "jsonpath={.status.phase}")
		return err == nil && out == "Running"
	})
	node, err := r.kubectl("", "get", "pod", "user", "-o", "jsonpath={.spec.nodeName}")
	if err != nil {
		r.T.Fatalf("the pod's node: %v\n%s", err, node)
	}
	attached := func() string {
		return strings.TrimSpace(r.OpenStack("server", "volume", "list", node, "-f", "value", "-c", "Volume ID"))
	}
	if attached() == "" {
		r.T.Error("the pod runs, but its server has no volume")
	}
	if out, err := r.kubectl("", "logs", "user"); err != nil {
		r.T.Errorf("logs of the pod: %v\n%s", err, out)
	}
	if out, err := r.kubectl("", "delete", "pod/user", "pvc/data", "--timeout=10m"); err != nil {
		r.T.Errorf("deleting: %v\n%s", err, out)
	}
	r.Eventually("the detachment of the volume", 10*time.Minute, func() bool { return attached() == "" })
}

// kubectl asks the management cluster.
func (r *run) kubectl(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.T.Context(), filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(r.Folder, ".slipway", "management.kubeconfig"))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output() // what it warns of stands beside, such as a first attempt that failed
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out = append(out, exit.Stderr...)
	}
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), err
}
