package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/addons/noderemoval"
)

// consumer is a volume with a pod that mounts it.
const consumer = `
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

// metricsService is a load balancer in front of what every cluster runs.
const metricsService = `
apiVersion: v1
kind: Service
metadata: {name: dns-metrics, namespace: kube-system}
spec:
  type: LoadBalancer
  selector: {k8s-app: kube-dns}
  ports: [{port: 9153}]
`

// defragment runs what the nightly job runs, on the real members with their
// certificates: each of them is told, the leader last.
func (p *project) defragment() {
	p.t.Helper()
	if out, err := p.on("", "-n", "kube-system", "create", "job", "--from=cronjob/etcd-defrag", "now"); err != nil {
		p.t.Fatalf("creating the job: %v\n%s", err, out)
	}
	_, err := p.on("", "-n", "kube-system", "wait", "--for=condition=complete", "job/now", "--timeout=3m")
	said, _ := p.on("", "-n", "kube-system", "logs", "job/now")
	table := strings.Split(said, "\n")
	if err != nil || strings.Count(said, ":2379") != 3 || !strings.Contains(table[len(table)-1], " yes ") {
		p.t.Errorf("defragmentation: %v\n%s", err, said)
	}
}

// use makes a volume and a load balancer by the cluster's own controllers, and
// reaches what is behind it from outside.
func (p *project) use() {
	p.t.Helper()
	if out, err := p.on(consumer+"---"+metricsService, "apply", "-f", "-"); err != nil {
		p.t.Fatalf("applying: %v\n%s", err, out)
	}
	p.eventually("pod with a volume", 8*time.Minute, func() (string, bool) {
		out, err := p.on("", "get", "pod", "user", "-o", "jsonpath={.status.phase}")
		return out, err == nil && out == "Running"
	})
	if claim, err := p.on("", "get", "pvc", "data", "-o", "jsonpath={.spec.storageClassName} {.status.phase}"); err != nil || claim != "csi-cinder Bound" {
		p.t.Errorf("the claim: %v, %s", err, claim)
	}
	p.eventually("load balancer", 8*time.Minute, func() (string, bool) {
		address, err := p.on("", "-n", "kube-system", "get", "service", "dns-metrics", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err != nil || address == "" {
			return address, false
		}
		out, err := exec.CommandContext(p.t.Context(), "curl", "-sS", "--max-time", "5", "http://"+address+":9153/metrics").CombinedOutput()
		return string(out[:min(len(out), 200)]), err == nil && strings.Contains(string(out), "coredns_build_info")
	})
}

// scale adds a worker by a changed file: one machine more, and no other one
// touched.
func (p *project) scale() {
	p.t.Helper()
	before := p.servers()
	path := filepath.Join(p.folder, "slipway.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "count: 1", "count: 2", 1)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.up()
	p.ready(5, time.Minute)
	after := p.servers()
	for name, id := range before {
		if after[name] != id {
			p.t.Errorf("server %s was %s, is %q", name, id, after[name])
		}
	}
	if len(after) != len(before)+1 {
		p.t.Errorf("%d servers became %d", len(before), len(after))
	}
}

// servers are the ids of the project's servers by name.
func (p *project) servers() map[string]string {
	p.t.Helper()
	servers := map[string]string{}
	for line := range strings.Lines(p.openstack("server", "list", "-f", "value", "-c", "Name", "-c", "ID")) {
		if fields := strings.Fields(line); len(fields) == 2 {
			servers[fields[1]] = fields[0]
		}
	}
	return servers
}

// loseControlPlaneUnderLoad is loseControlPlane while the Magnum API is asked.
func (p *project) loseControlPlaneUnderLoad() {
	p.t.Helper()
	p.underLoad("the loss of a control plane", func() { p.loseControlPlane(4) })
}

// replaceWorkerUnderLoad replaces a worker while the Magnum API is asked, through the load balancer
// whose member it is: no request may go to a server that is gone, so each is answered.
func (p *project) replaceWorkerUnderLoad() {
	p.t.Helper()
	worker, err := p.by("seed.kubeconfig", "", "get", "machines", "-A", "-l", "!cluster.x-k8s.io/control-plane", "-o", "jsonpath={.items[0].metadata.namespace} {.items[0].metadata.name} {.items[0].status.nodeRef.name}")
	fields := strings.Fields(worker)
	if err != nil || len(fields) != 3 {
		p.t.Fatalf("listing workers: %v\n%s", err, worker)
	}
	l := p.underLoad("the replacement of a worker", func() {
		if out, err := p.by("seed.kubeconfig", "", "delete", "machine", "-n", fields[0], fields[1], "--wait=false"); err != nil {
			p.t.Fatalf("deleting a Machine: %v\n%s", err, out)
		}
		p.eventually("node "+fields[2]+" leaves load balancers", 2*time.Minute, func() (string, bool) {
			out, err := p.on("", "get", "node", fields[2], "-o", "jsonpath={.metadata.labels}")
			return out, err == nil && strings.Contains(out, noderemoval.ExcludedLabel)
		})
		p.t.Logf("%s: node %s left load balancers", time.Now().Format(time.TimeOnly), fields[2])
		if id := p.servers()[fields[1]]; id == "" {
			p.t.Errorf("the server of Machine %s is gone before its node left load balancers", fields[1])
		}
		p.eventually("Machine "+fields[1]+" is gone", 8*time.Minute, func() (string, bool) {
			out, err := p.by("seed.kubeconfig", "", "get", "machine", "-n", fields[0], fields[1], "--ignore-not-found", "-o", "name")
			return out, err == nil && out == ""
		})
		p.t.Logf("%s: Machine %s is gone", time.Now().Format(time.TimeOnly), fields[1])
		p.ready(5, 8*time.Minute)
		time.Sleep(30 * time.Second) // a connection that leads through the former worker would be used by then
	})
	if n := l.unanswered.Load(); n > 0 {
		p.t.Errorf("%d requests got no answer while node %s was removed:\n%s", n, fields[2], strings.Join(l.again, "\n"))
	}
}

// loseControlPlane deletes one of the servers behind the API's back. The API
// must answer all the time, and the health check replace the machine, so that there
// are as many nodes as before.
func (p *project) loseControlPlane(nodes int) {
	p.t.Helper()
	out, err := p.on("", "get", "nodes", "-l", "node-role.kubernetes.io/control-plane", "-o", "jsonpath={.items[0].metadata.name}")
	if err != nil {
		p.t.Fatalf("listing nodes: %v\n%s", err, out)
	}
	lost := out
	p.openstack("server", "delete", "--wait", lost)
	silent := 0
	p.eventually("replacement of "+lost, 8*time.Minute, func() (string, bool) {
		out, err := p.on("", "get", "nodes", "--no-headers", "--request-timeout=10s")
		if err != nil {
			silent++
			return out, false
		}
		return out, !strings.Contains(out, lost) && strings.Count(out, " Ready ") == nodes
	})
	// A connection that went to the lost server is one failure; two in a row of
	// two seconds each would be an outage.
	if silent > 3 {
		p.t.Errorf("the API did not answer %d times", silent)
	}
}
