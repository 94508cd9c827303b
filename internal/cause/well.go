package cause

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func nestedInt(o map[string]any, path ...string) (int64, bool, error) {
	return unstructured.NestedInt64(o, path...)
}

func nestedMap(o map[string]any, path ...string) (map[string]any, bool, error) {
	return unstructured.NestedMap(o, path...)
}

func nestedSlice(o map[string]any, path ...string) ([]any, bool, error) {
	return unstructured.NestedSlice(o, path...)
}

// well says what was looked at and is well.
func (v *scene) well(found []Finding) []string {
	var lines []string
	sick := func(kind string) bool {
		return slices.ContainsFunc(found, func(f Finding) bool { return f.Object.Kind == kind })
	}
	add := func(list, kind, line string) {
		if v.Cloud.knows(list) && !sick(kind) {
			lines = append(lines, line)
		}
	}
	if v.Cloud != nil && v.Cloud.Refused == nil {
		lines = append(lines, "Keystone accepts the credential")
	}
	running := 0
	for _, m := range v.members {
		if m.nova != nil && m.nova.Status == "ACTIVE" {
			running++
		}
	}
	if len(v.members) > 0 {
		add(ListServers, "server", fmt.Sprintf("%d of %d servers are ACTIVE", running, len(v.members)))
	}
	if b := v.api(); b != nil && b.Provisioning == "ACTIVE" {
		add(ListBalancers, "load balancer", fmt.Sprintf("load balancer %s is ACTIVE and %s", b.Name, b.Operating))
	}
	if b := v.tree(); b != nil && len(v.serves()) > 0 && v.gap(*b) == "" {
		lines = append(lines, fmt.Sprintf("it has a listener for TCP port %d, a pool and members", v.apiPort()))
	}
	if address := v.address(); address != "" && v.Cloud.knows(ListFloatingIPs) && !sick("floating IP") {
		lines = append(lines, "floating IP "+address+" is associated")
	}
	if subnets := v.subnets(); len(subnets) > 0 && !sick("subnet") && !slices.ContainsFunc(subnets, func(s Subnet) bool { return v.lacking(s) != nil }) {
		lines = append(lines, "the subnet of the machines has DHCP and a gateway")
	}
	add(ListPorts, "port", "ports of running servers are up")
	add(ListVolumes, "volume", "no volume of the machines is in an error state")
	if r := v.router(); r != nil && r.Gateway != "" {
		lines = append(lines, "router "+r.Name+" has an external gateway")
	}
	if g := v.group(); g != nil && g.lets(v.apiPort()) {
		lines = append(lines, fmt.Sprintf("security group %s lets TCP port %d in", g.Name, v.apiPort()))
	}
	if v.Cloud.knows(ListQuotas) {
		if full := v.full(); len(full) == 0 {
			lines = append(lines, "no quota is used up")
		} else {
			lines = append(lines, fmt.Sprintf("quotas that are used up, which matters only for what is new: %v", full))
		}
	}
	return append(lines, v.wellInside(found)...)
}

// full are the quotas without room.
func (v *scene) full() []string {
	var names []string
	for _, q := range v.Cloud.Quotas {
		if q.Limit >= 0 && q.Used >= q.Limit {
			names = append(names, fmt.Sprintf("%s (%d of %d)", q.Resource, q.Used, q.Limit))
		}
	}
	return names
}

// wellInside says what the cluster itself shows and is well.
func (v *scene) wellInside(found []Finding) []string {
	i := v.Inside
	if i == nil || i.Unreachable != nil {
		return nil
	}
	var lines []string
	if len(i.Failing) == 0 {
		line := "the Kubernetes API at " + i.Address + " answers and is ready"
		if !i.Expires.IsZero() {
			line += ", its certificate is valid until " + i.Expires.UTC().Format("2006-01-02")
		}
		lines = append(lines, line)
	}
	if i.knows(ListNodes) {
		ready := 0
		for _, n := range i.Nodes {
			if n.condition("Ready").Status == "True" {
				ready++
			}
		}
		lines = append(lines, fmt.Sprintf("%d of %d nodes are ready", ready, len(i.Nodes)))
	}
	if i.knows(ListPods) {
		lines = append(lines, fmt.Sprintf("%d of %d pods of its system and addons are well", i.Seen-len(i.Pods), i.Seen))
	}
	if i.knows(ListHooks) && !slices.ContainsFunc(found, func(f Finding) bool { return f.Object.Kind == "webhook" }) {
		lines = append(lines, fmt.Sprintf("%d webhooks in the cluster have a pod that answers, or are not required", len(i.Hooks)))
	}
	return lines
}

// dark is what could not be looked at inside the cluster. An API server that only this
// machine does not reach is no cause, so it is told here.
func (v *scene) dark() []Unseen {
	i := v.Inside
	switch {
	case i == nil:
		return nil
	case i.Unreachable == nil:
		unseen := slices.Clone(i.Missing)
		if len(i.Pods) > 0 && i.PodNetwork == nil {
			unseen = append(unseen, Unseen{"the MTU of the pod network", "its plugin finds it out by itself and does not show it; test it with ping -M do -s SIZE between two nodes"})
		}
		return unseen
	}
	return []Unseen{{WithinCluster, "its API at " + i.Address + ", asked from " + i.From + ": " + oneLine(i.Unreachable.Words)}}
}
