package machines

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// withManagement is the section of the environment file. Of machines that share two processors
// an emulated node can be NotReady for minutes: the health checks of the chart, five minutes,
// would replace it before it is done.
const withManagement = `  managementCluster:
    controlPlane: {count: 1, flavor: m1.medium}
    nodeGroups: [{name: md-0, count: 1, flavor: m1.medium}]
    values:
      controlPlane: {healthCheck: {enabled: false}}
      nodeGroupDefaults: {healthCheck: {enabled: false}}
`

// volumePod is a volume of Cinder, with a pod that mounts it.
const volumePod = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: data}
spec:
  containers:
    - name: pause
      image: registry.k8s.io/pause:3.10.1
      volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// manage gives the environment a management cluster of one control plane and one worker, guests
// as the seed is, behind a load balancer of Octavia.
func (r *run) manage() {
	r.T.Helper()
	r.Edit(func(text string) string { return strings.TrimRight(text, "\n") + "\n" + withManagement })
	r.up()
	r.expect("the nodes", r.on("", "get", "nodes", "--no-headers"), `^real-\S+ +Ready +control-plane[^\n]*\nreal-\S+ +Ready [^\n]*$`)
	r.expect("the controllers", r.on("", "get", "deployments", "-n", "capo-system", "-o", "jsonpath={.items[*].status.availableReplicas}"), `^1$`)
}

// volume lets a pod write to Cinder, and takes both away again.
func (r *run) volume() {
	r.T.Helper()
	r.on(volumePod, "apply", "-f", "-")
	r.on("", "wait", "pod/data", "--for=condition=Ready", "--timeout=20m")
	r.on("", "delete", "pod/data", "pvc/data", "--timeout=10m")
	r.Eventually("the end of the volume", 5*time.Minute, func() bool {
		return r.on("", "get", "persistentvolumes", "-o", "name") == ""
	})
}

// on runs kubectl on the management cluster, from outside, with the kubeconfig that up wrote.
func (r *run) on(stdin string, args ...string) string {
	r.T.Helper()
	cmd := exec.CommandContext(r.T.Context(), filepath.Join(r.Folder, "bundle", "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(r.Folder, ".slipway", "management.kubeconfig"))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.T.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// everyNode is what the domains of the environment's machines are in Nova: the seed, the control
// plane and the worker.
func (r *run) everyNode() {
	r.T.Helper()
	names := strings.Fields(r.inside("virsh", "list", "--name"))
	if len(names) != 3 {
		r.T.Errorf("domains: %v", names)
	}
	kernels := r.on("", "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.kernelVersion}")
	if !regexp.MustCompile(`^(\S+-cloud-amd64) \S+-cloud-amd64$`).MatchString(kernels) {
		r.T.Errorf("the kernels of the nodes are %s, not the image's", kernels)
	}
}
