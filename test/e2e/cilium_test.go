package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// withCilium is a management cluster whose pod network is Cilium's. Its agents have the
// capabilities of the chart but SYS_RESOURCE, which this host may not have to lend: memory of eBPF
// is limited by cgroups since Linux 5.11.
const withCilium = `
    cni: cilium
    values:
      addons:
        cni:
          cilium:
            release:
              values:
                securityContext:
                  capabilities:
                    ciliumAgent: [CHOWN, KILL, NET_ADMIN, NET_RAW, IPC_LOCK, SYS_MODULE, SYS_ADMIN, DAC_OVERRIDE, FOWNER, SETGID, SETUID, SYSLOG]
                    cleanCiliumState: [NET_ADMIN, SYS_MODULE, SYS_ADMIN]
`

var kubeProxyReplaced = regexp.MustCompile(`KubeProxyReplacement: +True`)

// TestCilium has a management cluster with Cilium of the bundle in the place of flannel and
// kube-proxy. Services answer from a node, from pods on both nodes and from outside; pods have
// the MTU of VXLAN in the machines' network; NetworkPolicies have an effect; the metadata service is
// out of reach; nothing of it is on the host.
//
// proves: F97, S-39
func TestCilium(t *testing.T) {
	images := os.Getenv("SLIPWAY_CILIUM")
	if images == "" {
		t.Skip("SLIPWAY_CILIUM names no bundle: run make cilium-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	p.append(smallManagementCluster + strings.TrimPrefix(withCilium, "\n"))
	p.mirror("--dir", images, "--dir", whoamiBundle(t))
	p.timed("up", func() { p.up() })
	p.expectCilium()
	p.startsPair()
	p.timed("Services", p.servicesAnswer)
	p.expectMTU()
	p.timed("NetworkPolicies", p.policiesHold)
	p.expectNoKubeProxy()
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a further run changed %v", again.Report.Changes)
	}
	p.timed("down", func() { p.goDown() })
}

// expectCilium has Cilium's agents say that all is well.
func (p *project) expectCilium() {
	p.t.Helper()
	for _, agent := range p.agents() {
		p.eventually("Cilium's status", 5*time.Minute, func() (string, bool) {
			status, err := p.inAgent(agent, "cilium-dbg", "status")
			return status, err == nil && kubeProxyReplaced.MatchString(status) && strings.Contains(status, "2/2 reachable")
		})
	}
}

// agents are Cilium's pods, one on each node.
func (p *project) agents() []string {
	p.t.Helper()
	out, err := p.on("", "-n", "kube-system", "get", "pods", "-l", "k8s-app=cilium", "-o", "name")
	if agents := strings.Fields(out); err == nil && len(agents) == 2 {
		return agents
	}
	p.t.Fatalf("agents: %s (%v)", out, err)
	return nil
}

func (p *project) inAgent(agent string, command ...string) (string, error) {
	p.t.Helper()
	return p.on("", append([]string{"-n", "kube-system", "exec", agent, "-c", "cilium-agent", "--"}, command...)...)
}

// expectNoKubeProxy looks for it, and for its rules on the nodes.
func (p *project) expectNoKubeProxy() {
	p.t.Helper()
	if out, err := p.on("", "-n", "kube-system", "get", "daemonsets", "-o", "name"); err != nil || strings.Contains(out, "kube-proxy") || !strings.Contains(out, "daemonset.apps/cilium") {
		p.t.Errorf("DaemonSets: %s (%v)", out, err)
	}
	for name, server := range p.clusterMachines() {
		if rules, err := p.inside(server, "iptables-save; nft list ruleset"); err != nil || strings.Contains(rules, "KUBE-SVC") || strings.Contains(rules, "KUBE-SERVICES") {
			p.t.Errorf("rules of kube-proxy on %s (%v):\n%s", name, err, rules)
		}
	}
}
