package e2e

import (
	"encoding/json"
	"errors"
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
	return answer(cmd)
}

// answer is what a command printed for its reader. Clients warn beside it of what they have
// tried again; that is only told with a failure.
func answer(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out = append(out, exit.Stderr...)
	}
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

// TestManagementCluster goes on from an empty cloud to the highly available management
// cluster, uses it, and has a tenant make and use a cluster by the Magnum API, with tokens of
// Keystone, volumes and their snapshots. Then everything but that cluster is lost, and rebuilt
// from the backup by one command. At last down takes everything away, with what the clusters
// themselves had made, also those before the loss.
//
// proves: F01, F26, F33, F37, F56, F98, F99, F105, F141, S-22, S-42, S-43, S-84, M-F3, M-X10
func TestManagementCluster(t *testing.T) {
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(managementCluster)
	identity := p.backedUp()
	defer p.tell()
	p.bringUp()
	if of := p.balancers(); !slices.Equal(of, []string{"demo"}) { // which the tenant must leave alone
		t.Errorf("load balancers of Services: %q", of)
	}
	p.timed("life of a tenant's cluster", func() {
		p.serveTenant(func() {
			p.timed("logins by Keystone", p.logIn)
			p.timed("a snapshot of a volume", p.restoreSnapshot)
			p.timed("a visit of the operator's console", p.visitOwnConsole)
			p.refuseToGo()
			if !testing.Short() { // CI on slow processors has no time for a rebuild
				p.timed("loss of everything else", func() { p.survive(func() string { return p.recoverAtOnce(identity) }) })
			}
			p.timed("a visit of the console", p.visitConsole)
		}, "--merge-labels", "--labels", "keystone_auth_enabled=true",
			"--labels", "csi_snapshots_enabled=true", "--labels", "csi_cinder_reclaim_policy=Delete")
	})
	p.timed("down", func() { p.goDown() })
	p.expectNothingInKeystone()
}

// expectNothingInKeystone wants no user, project or service of the Magnum API there.
func (p *project) expectNothingInKeystone() {
	p.t.Helper()
	for _, kind := range []string{"user", "project", "service"} {
		for name := range strings.Lines(p.openstack("--os-cloud", "sandbox-admin", kind, "list", "-f", "value", "-c", "Name")) {
			if strings.HasPrefix(name, "demo-") || strings.HasPrefix(name, "magnum") {
				p.t.Errorf("down left the %s %s in Keystone", kind, name)
			}
		}
	}
}

// TestManagementClusterAtLength is a longer life of the same environment: it is checked, is
// run by Ansible, loses a control plane while the Magnum API is asked, grows, gets an operator's
// cluster whose credentials are rotated, moves onto itself, and looks after itself while the
// seed is shelved. The tenant's cluster is rotated, resized and given another group of nodes.
//
// proves: F41, S-18, S-20, S-27, S-65, S-70, S-72, S-79, M-F6, M-X19
func TestManagementClusterAtLength(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("TestManagementCluster is the short life: set SLIPWAY_PROOFS=1")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(managementCluster + "  credential: {separate: true}\n")
	defer p.tell()
	p.bringUp()
	p.timed("checks, certificates and leftovers", p.operations)
	site := p.control()
	p.timed("the first run by Ansible", site.installs)
	p.timed("runs by Ansible", site.runAsASite)
	p.timed("machines by Ansible", func() { site.reachMachines(5) })
	p.timed("a visit of the console", p.visitConsole)
	p.timed("loss of a control plane", p.loseControlPlaneUnderLoad)
	p.timed("scaling", p.scale)
	p.timed("replacement of a worker", p.replaceWorkerUnderLoad)
	p.timed("life of an operator's cluster", func() { p.operateCluster(site) })
	if of := p.balancers(); !slices.Equal(of, []string{"demo"}) { // which the tenant must leave alone
		t.Errorf("load balancers of Services: %q", of)
	}
	p.timed("life of a tenant's cluster", func() {
		p.serveTenant(func() {
			p.changeShop(func() {})
		})
	})
	p.timed("moving of the cluster onto itself", p.pivot)
	p.timed("fewer workers without a seed", p.scaleAlone)

	p.timed("down by Ansible", site.takeDown)
	p.goDown()
}

// bringUp makes the environment, and sees what everybody has after it: nodes, a kubeconfig,
// controllers, a release, a second run without changes, volumes and load balancers.
func (p *project) bringUp() {
	p.t.Helper()
	start := time.Now()
	first := p.up()
	p.t.Logf("up took %s:%s", time.Since(start).Round(time.Second), first.longest())
	p.ready(4, time.Minute)
	if info, err := os.Stat(filepath.Join(p.folder, ".slipway", "management.kubeconfig")); err != nil || info.Mode().Perm() != 0o600 {
		p.t.Errorf("kubeconfig: %v, %v", info, err)
	}
	if again := p.up(); len(again.Report.Changes) != 0 {
		p.t.Errorf("a second run changed %v", again.Report.Changes)
	}
	if out, err := p.on("", "get", "deployments", "-A"); err != nil || !strings.Contains(out, "capo-controller-manager") || !strings.Contains(out, "cluster-api-janitor-openstack") {
		p.t.Errorf("on the management cluster: %v\n%s", err, out)
	}
	p.expectTree()
	p.expectRelease()
	p.expectCertManager("seed.kubeconfig")
	p.expectCertManager("management.kubeconfig")
	p.timed("defragmentation", p.defragment)
	p.timed("use", p.use)
	p.enlargeQuota()
}

// enlargeQuota lets the project have clusters of tenants.
func (p *project) enlargeQuota() {
	p.t.Helper()
	p.openstack("--os-cloud", "sandbox-admin", "quota", "set", "--cores", "40", "--instances", "20", "--ram", "102400", "demo")
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
	// A run that failed half-way may have left none.
	for _, name := range []string{"management", "seed"} {
		if out, err := p.command("kubeconfig", "--cluster", name, "--output", filepath.Join(p.folder, ".slipway", name+".kubeconfig")).CombinedOutput(); err != nil {
			fmt.Fprintf(&said, "slipway kubeconfig --cluster %s: %v\n%s\n", name, err, out)
		}
	}
	for _, question := range [][]string{
		{"get", "machines,machinehealthchecks", "--all-namespaces", "-o", "jsonpath={range .items[*]}{.kind} {.metadata.name} {.status}{\"\\n\"}{end}"},
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
