package kubeletcerts

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// address is an address of a Machine.
func address(kind, text string) any { return map[string]any{"type": kind, "address": text} }

// theMachine is a Machine of the cluster c1.
func theMachine(namespace, name, node string, addresses ...any) *unstructured.Unstructured {
	status := map[string]any{"addresses": addresses}
	if node != "" {
		status["nodeRef"] = map[string]any{"name": node}
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{"cluster.x-k8s.io/cluster-name": "c1"}},
		"status":   status}}
}

// TestJudge compares what is asked for with what the Machines of the cluster have.
func TestJudge(t *testing.T) {
	t.Parallel()
	w1 := theMachine("clusters", "c1-w1", "w1", address("Hostname", "c1-w1"), address("InternalDNS", "c1-w1.internal"), address("ExternalDNS", "shop.example.com"),
		address("InternalIP", "10.0.0.5"), address("ExternalIP", "203.0.113.5"), address("InternalIP", "2001:db8::5"), address("InternalIP", "nonsense"))
	w2 := theMachine("clusters", "c1-w2", "w2", address("InternalIP", "10.0.0.6"), address("Hostname", "w2"))
	bare := theMachine("clusters", "c1-w3", "w3", address("Hostname", "w3"))
	joining := theMachine("clusters", "c1-w4", "", address("InternalIP", "10.0.0.7"))
	for name, c := range map[string]struct {
		node  string
		ips   []string
		names []string
		more  *unstructured.Unstructured
		want  string // empty: it is w1's
	}{
		"its address":                   {node: "w1", ips: []string{"10.0.0.5"}, names: []string{"w1"}},
		"all that it has":               {node: "w1", ips: []string{"10.0.0.5", "203.0.113.5", "2001:db8::5"}, names: []string{"w1", "c1-w1", "c1-w1.internal"}},
		"an address in another form":    {node: "w1", ips: []string{"::ffff:10.0.0.5"}},
		"another node's address":        {node: "w1", ips: []string{"10.0.0.5", "10.0.0.6"}, want: "node w1 asks for 10.0.0.6, which Machine c1-w1 does not have"},
		"the address of nobody":         {node: "w1", ips: []string{"10.0.0.1"}, want: "asks for 10.0.0.1"},
		"another node's name":           {node: "w1", ips: []string{"10.0.0.5"}, names: []string{"w2"}, want: "asks for w2"},
		"the name of the API":           {node: "w1", ips: []string{"10.0.0.5"}, names: []string{"w1", "kubernetes.default.svc"}, want: "asks for kubernetes.default.svc"},
		"a wildcard":                    {node: "w1", ips: []string{"10.0.0.5"}, names: []string{"*"}, want: "asks for *"},
		"a name outside":                {node: "w1", ips: []string{"10.0.0.5"}, names: []string{"shop.example.com"}, want: "asks for shop.example.com"},
		"an address as a name":          {node: "w1", ips: []string{"10.0.0.5"}, names: []string{"10.0.0.5"}, want: "asks for 10.0.0.5"},
		"all that is foreign at once":   {node: "w1", ips: []string{"10.0.0.6", "10.0.0.1"}, names: []string{"w2"}, want: "asks for 10.0.0.6, 10.0.0.1, w2"},
		"a node without a Machine":      {node: "intruder", ips: []string{"10.0.0.5"}, want: "no Machine of the cluster has the node intruder"},
		"a Machine that is no node yet": {node: "c1-w4", ips: []string{"10.0.0.7"}, want: "no Machine of the cluster has the node c1-w4"},
		"a Machine without addresses":   {node: "w3", ips: []string{"10.0.0.8"}, want: "Machine c1-w3 has no addresses"},
		"two Machines of one node":      {node: "w1", ips: []string{"10.0.0.9"}, more: theMachine("clusters", "c1-w9", "w1", address("InternalIP", "10.0.0.9")), want: "Machine c1-w1 and Machine c1-w9 both have the node w1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			csr, _ := ask(t, c.node, c.ips, func(w *wish) { w.template.DNSNames = c.names })
			a, err := read(csr)
			if err != nil {
				t.Fatal(err)
			}
			machines := []machine{machineOf(joining), machineOf(w1), machineOf(w2), machineOf(bare)}
			if c.more != nil {
				machines = append(machines, machineOf(c.more))
			}
			switch got, err := judge(a, machines); {
			case c.want == "" && (err != nil || got != "c1-w1"):
				t.Errorf("it is %q's: %v", got, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || got != ""):
				t.Errorf("it is %q's: %v, want %q", got, err, c.want)
			}
		})
	}
}
