package kubeletcerts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// machine has what matters of a Machine: its node, and the name and addresses of its server
// according to the infrastructure.
type machine struct {
	name, node string
	names      []string
	ips        []netip.Addr
}

// machineOf reads a Machine of either contract of Cluster API.
func machineOf(object *unstructured.Unstructured) machine {
	m := machine{name: object.GetName()}
	m.node, _, _ = unstructured.NestedString(object.Object, "status", "nodeRef", "name")
	addresses, _, _ := unstructured.NestedSlice(object.Object, "status", "addresses")
	for _, entry := range addresses {
		fields, _ := entry.(map[string]any)
		kind, _ := fields["type"].(string)
		text, _ := fields["address"].(string)
		switch kind {
		case "Hostname", "InternalDNS":
			m.names = append(m.names, text)
		case "InternalIP", "ExternalIP":
			if ip, err := netip.ParseAddr(text); err == nil {
				m.ips = append(m.ips, ip.Unmap())
			}
		}
	}
	return m
}

// judge returns the name of the Machine that may have what its kubelet asks for, or why there is
// none. Such a reason may go away: a Machine learns its node and its addresses later than the
// kubelet does.
func judge(a asked, machines []machine) (name string, err error) {
	at := slices.IndexFunc(machines, func(m machine) bool { return m.node == a.node })
	if at < 0 {
		return "", fmt.Errorf("no Machine of the cluster has the node %s", a.node)
	}
	m := machines[at]
	if another := slices.IndexFunc(machines[at+1:], func(m machine) bool { return m.node == a.node }); another >= 0 {
		return "", fmt.Errorf("Machine %s and Machine %s both have the node %s", m.name, machines[at+1+another].name, a.node)
	}
	if len(m.ips) == 0 {
		return "", fmt.Errorf("Machine %s has no addresses", m.name)
	}
	var foreign []string
	for _, ip := range a.ips {
		if !slices.Contains(m.ips, ip) {
			foreign = append(foreign, ip.String())
		}
	}
	for _, name := range a.names {
		if name != a.node && !slices.Contains(m.names, name) {
			foreign = append(foreign, name)
		}
	}
	if len(foreign) > 0 {
		return "", fmt.Errorf("node %s asks for %s, which Machine %s does not have", a.node, strings.Join(foreign, ", "), m.name)
	}
	return m.name, nil
}
