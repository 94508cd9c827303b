package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// managementCluster is the section of the environment file: health checks that
// do not wait for five minutes, as on a cloud whose network may hiccup, and
// former credentials that end soon.
const managementCluster = `
  managementCluster:
    nodeGroups: [{name: md-0, count: 1}]
    values:
      controlPlane:
        healthCheck:
          spec:
            unhealthyConditions:
              - {type: Ready, status: Unknown, timeout: 20s}
              - {type: Ready, status: "False", timeout: 60s}
  magnum:
    adminCloud: sandbox-admin
    credentialOverlap: 1m
  console: {}
`

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

// on runs kubectl on the management cluster, as the user would with the
// kubeconfig that up wrote.
func (p *project) on(stdin string, args ...string) (string, error) {
	return p.by("management.kubeconfig", stdin, args...)
}

// by runs kubectl with one of the kubeconfigs that up wrote.
func (p *project) by(kubeconfig, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(bundleDir(p.t), "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.folder, ".slipway", kubeconfig))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// eventually repeats until the answer is as wanted.
func (p *project) eventually(what string, within time.Duration, good func() (string, bool)) {
	p.t.Helper()
	end := time.Now().Add(within)
	for {
		seen, ok := good()
		if ok {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: not within %s; last seen: %s", what, within, seen)
		}
		time.Sleep(2 * time.Second)
	}
}

// ready waits until that many nodes are Ready and no other is there.
func (p *project) ready(nodes int, within time.Duration) {
	p.t.Helper()
	p.eventually("nodes Ready", within, func() (string, bool) {
		out, err := p.on("", "get", "nodes", "--no-headers")
		return out, err == nil && strings.Count(out, " Ready ") == nodes && len(strings.Split(out, "\n")) == nodes
	})
}

// TestManagementCluster goes on from an empty cloud to the highly available
// management cluster, uses it, loses one of its servers, has a tenant make a
// cluster by the Magnum API, looks after itself while the seed is shelved, and takes everything away again, with
// what the clusters themselves had made.
//
// proves: F01, F26, F33, F37, F41, F98, F99, F105, F141, S-20, S-27, S-42, S-65, S-70, S-72, S-79, S-84, M-F3, M-F6, M-X10, M-X19
func TestManagementCluster(t *testing.T) {
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(managementCluster)
	defer p.tell()
	start := time.Now()
	first := p.up()
	t.Logf("up took %s:%s", time.Since(start).Round(time.Second), first.longest())
	p.ready(4, time.Minute)
	if info, err := os.Stat(filepath.Join(p.folder, ".slipway", "management.kubeconfig")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info, err)
	}
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a second run changed %v", again.Report.Changes)
	}
	if out, err := p.on("", "get", "deployments", "-A"); err != nil || !strings.Contains(out, "capo-controller-manager") || !strings.Contains(out, "cluster-api-janitor-openstack") {
		t.Errorf("on the management cluster: %v\n%s", err, out)
	}
	p.expectTree()
	p.expectRelease()
	p.expectCertManager("seed.kubeconfig")
	p.expectCertManager("management.kubeconfig")
	p.timed("defragmentation", p.defragment)
	p.timed("use", p.use)
	p.timed("checks, certificates and leftovers", p.operations)
	p.timed("a visit of the console", p.visitConsole)
	site := p.control()
	p.timed("runs by Ansible", site.runAsASite)
	p.timed("machines by Ansible", func() { site.reachMachines(5) })
	p.timed("loss of a control plane", func() { p.underLoad("the loss of a control plane", func() { p.loseControlPlane(4) }) })
	p.timed("scaling", p.scale)
	p.openstack("--os-cloud", "sandbox-admin", "quota", "set", "--cores", "40", "--instances", "20", "--ram", "102400", "demo")
	p.timed("life of an operator's cluster", func() { p.operateCluster(site) })
	if of := p.balancers(); !slices.Equal(of, []string{"demo"}) { // which serveTenants must leave alone
		t.Errorf("load balancers of Services: %q", of)
	}
	p.timed("life of a tenant's cluster", func() { p.serveTenants("") })
	p.timed("moving of the cluster onto itself", p.pivot)
	p.timed("fewer workers without a seed", p.scaleAlone)

	p.timed("down by Ansible", site.takeDown)
	p.goDown()
}

// timed tells how long a step took, also of one that ends the test: on another
// machine, that tells slow from stuck.
func (p *project) timed(step string, do func()) {
	p.t.Helper()
	defer func(start time.Time) {
		p.t.Helper()
		p.t.Logf("%s took %s", step, time.Since(start).Round(time.Second))
	}(time.Now())
	do()
}

// tell shows, when the test failed, what the clusters say: as one message, so
// that the causes before it are still found.
func (p *project) tell() {
	if !p.t.Failed() {
		return
	}
	var said strings.Builder
	for _, question := range [][]string{
		{"get", "pods", "--all-namespaces", "-o", "wide"},
		{"get", "events", "--all-namespaces", "--sort-by", ".lastTimestamp", "--field-selector", "type=Warning"},
		{"get", "clusters.magnum.slipway.sh,nodegroups.magnum.slipway.sh", "--all-namespaces", "-o", "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation} {.status}{\"\\n\"}{end}"},
		{"logs", "--namespace", "slipway-system", "--prefix", "--selector", "app.kubernetes.io/part-of=slipway", "--tail", "40"},
	} {
		for _, kubeconfig := range []string{"management.kubeconfig", "seed.kubeconfig"} {
			out, err := p.by(kubeconfig, "", append(question, "--request-timeout=20s")...)
			fmt.Fprintf(&said, "%s: kubectl %s: %v\n%s\n", kubeconfig, strings.Join(question, " "), err, out[max(0, len(out)-8000):])
		}
	}
	// A k3s that ended and was started again tells of it only here.
	journal, err := p.command("logs", "k3s", "--lines", "2000").CombinedOutput()
	for line := range strings.Lines(string(journal)) {
		if strings.Contains(line, "level=fatal") || strings.Contains(line, "panic:") || strings.Contains(line, "systemd[1]:") {
			fmt.Fprintf(&said, "k3s on the seed said: %s", line)
		}
	}
	p.t.Logf("\n%sslipway logs: %v", said.String(), err)
}

// expectTree looks at the tree that status shows.
func (p *project) expectTree() {
	p.t.Helper()
	var status struct {
		Clusters []struct {
			On, Name string
			Parts    []struct {
				Kind, Name, Cause string
				Ready             bool
			}
		}
	}
	if err := json.Unmarshal([]byte(p.do("status", "-o", "json")), &status); err != nil {
		p.t.Fatal(err)
	}
	if len(status.Clusters) != 1 || status.Clusters[0].On != "seed" || status.Clusters[0].Name != "demo" {
		p.t.Fatalf("clusters: %+v", status.Clusters)
	}
	kinds := map[string]int{}
	for _, part := range status.Clusters[0].Parts {
		kinds[part.Kind]++
		if !part.Ready {
			p.t.Errorf("%s %s is not ready: %s", part.Kind, part.Name, part.Cause)
		}
	}
	if kinds["Machine"] != 4 || kinds["KubeadmControlPlane"] != 1 || kinds["MachineDeployment"] != 1 || kinds["HelmRelease"] == 0 {
		p.t.Errorf("parts: %v", kinds)
	}
}

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
	p.eventually("pod with a volume", 4*time.Minute, func() (string, bool) {
		out, err := p.on("", "get", "pod", "user", "-o", "jsonpath={.status.phase}")
		return out, err == nil && out == "Running"
	})
	if claim, err := p.on("", "get", "pvc", "data", "-o", "jsonpath={.spec.storageClassName} {.status.phase}"); err != nil || claim != "csi-cinder Bound" {
		p.t.Errorf("the claim: %v, %s", err, claim)
	}
	p.eventually("load balancer", 4*time.Minute, func() (string, bool) {
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
