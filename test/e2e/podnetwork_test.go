package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

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

// startsPair starts a pod on each of the two nodes, which must be ready.
func (p *project) startsPair() {
	p.t.Helper()
	out, err := p.on("", "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}`)
	if err != nil || strings.Count(out, "=True") != 2 {
		p.t.Fatalf("nodes: %s (%v)", out, err)
	}
	nodes := strings.Fields(strings.ReplaceAll(out, "=True", ""))
	p.applies(fmt.Sprintf(pair, "one", nodes[0]) + "---" + fmt.Sprintf(pair, "two", nodes[1]) + "---" + front)
}

// servicesAnswer asks by cluster IPs, names and from outside.
func (p *project) servicesAnswer() {
	p.t.Helper()
	for node, server := range p.clusterMachines() {
		for _, name := range []string{"one", "two"} {
			p.eventually(name+" from the network of "+node, 5*time.Minute, func() (string, bool) {
				address, err := p.on("", "get", "service", name, "-o", "jsonpath={.spec.clusterIP}")
				if err != nil {
					return address, false
				}
				told, err := p.inside(server, `bash -c "exec 3<>/dev/tcp/`+address+`/80; printf 'GET /name HTTP/1.0\r\n\r\n' >&3; timeout 5 cat <&3"`)
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

// policiesHold closes a pod for all but one, and looks for what the pod network is to deny by itself.
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

// clusterMachines are the servers of a cluster of two machines, by their names.
func (p *project) clusterMachines() map[string]string {
	p.t.Helper()
	machines := p.servers()
	maps.DeleteFunc(machines, func(name, _ string) bool { return strings.Contains(name, "seed") })
	if len(machines) != 2 {
		p.t.Fatalf("machines of the cluster: %v", machines)
	}
	return machines
}

// expectMTU compares what pods may send with what their machines may: VXLAN takes 50 bytes. Calico
// tells it to the interface, Cilium to the route.
func (p *project) expectMTU() {
	p.t.Helper()
	const script = `
mtu='route=$(ip -o route get 192.0.2.1); of=${route##* mtu }; [ "$of" != "$route" ] && echo "${of%% *}" || { dev=${route##* dev }; cat "/sys/class/net/${dev%% *}/mtu"; }'
sh -c "$mtu"; for pod in $(ip -o netns list | cut -d" " -f1); do ip netns exec "$pod" sh -c "$mtu"; done`
	for node, server := range p.clusterMachines() {
		out, err := p.inside(server, script)
		mtus := strings.Fields(out)
		if err != nil || len(mtus) < 2 {
			p.t.Errorf("MTUs on %s: %q (%v)", node, out, err)
			continue
		}
		machine, err := strconv.Atoi(mtus[0])
		if of := slices.Compact(mtus[1:]); err != nil || len(of) != 1 || of[0] != strconv.Itoa(machine-50) {
			p.t.Errorf("on %s, whose MTU is %s, pods have %v", node, mtus[0], of)
		}
	}
}
