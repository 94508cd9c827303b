package e2e

import (
	"fmt"
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

// pair are two pods on two nodes, behind one Service each and one for both.
const pair = `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, labels: {app: %[1]s, both: "yes"}}
spec:
  nodeName: %[2]s
  containers: [{name: whoami, image: "ghcr.io/slipway-sh/whoami:v1.0.0", securityContext: {runAsUser: 65532}}]
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080}]}
`

const front = `
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {type: LoadBalancer, selector: {both: "yes"}, ports: [{port: 80, targetPort: 8080}]}
`

// closed lets nothing but the pod "one" reach the pod "two".
const closed = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec:
  podSelector: {matchLabels: {app: two}}
  ingress: [{from: [{podSelector: {matchLabels: {app: one}}}]}]
`

var kubeProxyReplaced = regexp.MustCompile(`KubeProxyReplacement: +True`)

// TestCilium has a management cluster with Cilium of the bundle in the place of flannel and
// kube-proxy. Services answer from a node, from pods on both nodes and from outside; NetworkPolicies
// have an effect; the metadata service is out of reach; nothing of it is on the host.
//
// proves: F97
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
	nodes := p.ciliumNodes()
	p.applies(fmt.Sprintf(pair, "one", nodes[0]) + "---" + fmt.Sprintf(pair, "two", nodes[1]) + "---" + front)
	p.timed("Services", p.servicesAnswer)
	p.timed("NetworkPolicies", p.policiesHold)
	p.expectNoKubeProxy()
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a further run changed %v", again.Report.Changes)
	}
	p.timed("down", func() { p.goDown() })
}

// ciliumNodes are the nodes, on which Cilium's agents say that all is well.
func (p *project) ciliumNodes() []string {
	p.t.Helper()
	out, err := p.on("", "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}`)
	if err != nil || strings.Count(out, "=True") != 2 {
		p.t.Fatalf("nodes: %s (%v)", out, err)
	}
	var nodes []string
	for _, node := range strings.Fields(out) {
		nodes = append(nodes, strings.TrimSuffix(node, "=True"))
	}
	for _, agent := range p.agents() {
		p.eventually("Cilium's status", 5*time.Minute, func() (string, bool) {
			status, err := p.inAgent(agent, "cilium-dbg", "status")
			return status, err == nil && kubeProxyReplaced.MatchString(status) && strings.Contains(status, "2/2 reachable")
		})
	}
	return nodes
}

// agents are Cilium's pods, one on each node, in the network of the node.
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

// servicesAnswer asks by cluster IPs, names and from outside.
func (p *project) servicesAnswer() {
	p.t.Helper()
	for _, agent := range p.agents() {
		for _, name := range []string{"one", "two"} {
			p.eventually(name+" from the network of a node", 5*time.Minute, func() (string, bool) {
				address, err := p.on("", "get", "service", name, "-o", "jsonpath={.spec.clusterIP}")
				if err != nil {
					return address, false
				}
				told, err := p.inAgent(agent, "bash", "-c", `exec 3<>/dev/tcp/`+address+`/80; printf 'GET /name HTTP/1.0\r\n\r\n' >&3; timeout 5 cat <&3`)
				return told, err == nil && strings.HasSuffix(told, "\n"+name)
			})
		}
	}
	for _, by := range []string{"one", "two"} {
		for _, to := range []string{"one", "two"} {
			p.asksFrom(by, to+".default", func(told string) bool { return told == to })
		}
	}
	p.eventually("both, from outside", 8*time.Minute, func() (string, bool) {
		address, err := p.on("", "get", "service", "front", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err != nil || address == "" {
			return "no address: " + address, false
		}
		told := map[string]bool{}
		for range 20 {
			if page, _, err := askAs(p.t.Context(), address, "front/name", ""); err == nil {
				told[page] = true
			}
		}
		return fmt.Sprint(told), told["one"] && told["two"] && len(told) == 2
	})
}

// asksFrom has a pod ask another, or itself, by the name of its Service and namespace, until it is
// told what is wanted. The pod's own name alone would be its own address.
func (p *project) asksFrom(by, host string, good func(told string) bool) {
	p.t.Helper()
	p.eventually(host+" from "+by, 2*time.Minute, func() (string, bool) {
		told, err := p.asks(by, host)
		return told, err == nil && good(told)
	})
}

// asks is what a pod is told by a host, or why it is not.
func (p *project) asks(by, host string) (string, error) {
	return p.on("", "get", "--raw", "/api/v1/namespaces/default/pods/"+by+":8080/proxy/of?host="+host)
}

// policiesHold closes a pod for all but one, and looks for what Cilium is to deny by itself.
func (p *project) policiesHold() {
	p.t.Helper()
	p.asksFrom("two", "two.default", func(told string) bool { return told == "two" })
	p.applies(closed)
	p.applies(fmt.Sprintf(pair, "three", p.nodeOf("one")))
	p.asksFrom("three", "one.default", func(told string) bool { return told == "one" })
	p.asksFrom("three", "two.default", func(told string) bool { return strings.Contains(told, "Client.Timeout exceeded") })
	p.asksFrom("one", "two.default", func(told string) bool { return told == "two" })
	told, err := p.on("", "get", "--raw", "/api/v1/namespaces/default/pods/one:8080/proxy/metadata")
	if err != nil || !strings.Contains(told, "Client.Timeout exceeded") {
		p.t.Errorf("the metadata service told a pod %q (%v)", told, err)
	}
}

func (p *project) nodeOf(pod string) string {
	p.t.Helper()
	node, err := p.on("", "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")
	if err != nil {
		p.t.Fatalf("node of %s: %v: %s", pod, err, node)
	}
	return node
}

// expectNoKubeProxy looks for it, and for its rules on the nodes.
func (p *project) expectNoKubeProxy() {
	p.t.Helper()
	if out, err := p.on("", "-n", "kube-system", "get", "daemonsets", "-o", "name"); err != nil || strings.Contains(out, "kube-proxy") || !strings.Contains(out, "daemonset.apps/cilium") {
		p.t.Errorf("DaemonSets: %s (%v)", out, err)
	}
	looked := 0
	for name, server := range p.servers() {
		if strings.Contains(name, "seed") {
			continue
		}
		looked++
		if rules, err := p.inside(server, "iptables-save; nft list ruleset"); err != nil || strings.Contains(rules, "KUBE-SVC") || strings.Contains(rules, "KUBE-SERVICES") {
			p.t.Errorf("rules of kube-proxy on %s (%v):\n%s", name, err, rules)
		}
	}
	if looked != 2 {
		p.t.Errorf("%d machines of the cluster", looked)
	}
}
