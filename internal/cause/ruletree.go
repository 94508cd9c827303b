package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// treeRules are about what the load balancer of the Kubernetes API is made of.
func treeRules() []Rule {
	return []Rule{{ID: "load-balancer-incomplete", Layer: "Octavia", Ending: Passing,
		Meaning: "The load balancer of the Kubernetes API lacks a listener, a pool or members: somebody deleted them, and Cluster API makes them again within minutes if it can.",
		Fix:     "wait for ten minutes; if it stays so, set an annotation on the OpenStackCluster and on the OpenStackMachines of the control plane, so that Cluster API makes what is missing at once",
		find:    incomplete},
		{ID: "load-balancer-limited", Layer: "Octavia", Ending: Passing,
			Meaning: "The load balancer of the Kubernetes API lets others in than the cluster's settings say: somebody changed its allowed CIDRs, and Cluster API sets them again within minutes.",
			Fix:     "wait for ten minutes, or set an annotation on the OpenStackCluster; who may connect is set in apiServerLoadBalancer.allowedCIDRs of the OpenStackCluster",
			find:    limited}}
}

// limited is a hit if the listener of the API has other allowed CIDRs than CAPO noted.
func limited(v *scene) []hit {
	b := v.tree()
	if b == nil {
		return nil
	}
	l := b.Parts.listener(v.apiPort())
	noted, _, _ := unstructured.NestedStringSlice(v.infrastructure.Object, "status", "apiServerLoadBalancer", "allowedCIDRs")
	if l == nil || slices.Equal(sorted(noted), sorted(l.AllowedCIDRs)) {
		return nil
	}
	words := fmt.Sprintf("its listener %s lets %s in instead of %s", l.Name, callers(l.AllowedCIDRs), callers(noted))
	object := v.under(v.infra(), Ref{Kind: "load balancer", Name: b.Name, ID: b.ID})
	return []hit{{object: object, cause: words, source: "Octavia", evidence: []string{"Octavia: load balancer " + b.Name + ": " + words}}}
}

func callers(cidrs []string) string { return cmp.Or(strings.Join(sorted(cidrs), ", "), "anybody") }

// serves reports whether a control plane was a node when the cloud was asked: then the load
// balancer had members before.
func (v *scene) serves() []member {
	var up []member
	for _, m := range v.members {
		if m.machine != nil && controls(m.machine) && m.node() && !m.leaving() && v.listed(m) {
			up = append(up, m)
		}
	}
	return up
}

// tree is the API's load balancer if it is whole as far as Octavia tells, and its parts are known.
func (v *scene) tree() *Balancer {
	b := v.api()
	if b == nil || b.Parts == nil || b.Disabled || b.Provisioning == "ERROR" || !v.completeWhenAsked() {
		return nil
	}
	return b
}

// incomplete is a hit for the first part on the way to the API server that is not there.
func incomplete(v *scene) []hit {
	b := v.tree()
	if b == nil {
		return nil
	}
	words := v.gap(*b)
	if words == "" {
		return nil
	}
	object := v.under(v.infra(), Ref{Kind: "load balancer", Name: b.Name, ID: b.ID})
	return []hit{{object: object, cause: words, source: "Octavia", evidence: []string{"Octavia: load balancer " + b.Name + ": " + words}}}
}

// gap says what a load balancer lacks for the Kubernetes API; nothing if it is whole.
func (v *scene) gap(b Balancer) string {
	l := b.Parts.listener(v.apiPort())
	if l == nil {
		return fmt.Sprintf("it has no listener for TCP port %d", v.apiPort())
	}
	p := b.Parts.pool(l.Pool)
	switch up := v.serves(); {
	case p == nil:
		return "its listener " + l.Name + " has no pool"
	case len(up) == 0:
		return ""
	case p.Members == 0:
		return "its pool " + p.Name + " has no members"
	case len(b.Members) > 0:
		for _, m := range up {
			if !slices.ContainsFunc(b.Members, m.is) {
				return "control plane " + m.machine.GetName() + " is no member of its pool " + p.Name
			}
		}
	}
	return ""
}

func (p *Parts) listener(port int) *Listener {
	i := slices.IndexFunc(p.Listeners, func(l Listener) bool { return l.Port == port })
	if i < 0 {
		return nil
	}
	return &p.Listeners[i]
}

func (p *Parts) pool(id string) *Pool {
	i := slices.IndexFunc(p.Pools, func(one Pool) bool { return one.ID == id })
	if i < 0 || id == "" {
		return nil
	}
	return &p.Pools[i]
}

// part returns words about the first listener or pool of the API of which they are true.
func (v *scene) part(b Balancer, yes func(provisioning string, disabled bool) (string, bool)) (string, bool) {
	if b.Parts == nil {
		return "", false
	}
	l := b.Parts.listener(v.apiPort())
	if l == nil {
		return "", false
	}
	if words, is := yes(l.Provisioning, l.Disabled); is {
		return "its listener " + l.Name + " is " + words, true
	}
	if p := b.Parts.pool(l.Pool); p != nil {
		if words, is := yes(p.Provisioning, p.Disabled); is {
			return "its pool " + p.Name + " is " + words, true
		}
	}
	return "", false
}

// thin reports whether the API's pool may have fewer members than there are control planes,
// so that their addresses are worth a look.
func (v *scene) thin(b Balancer) bool {
	if b.Parts == nil {
		return false
	}
	l := b.Parts.listener(v.apiPort())
	if l == nil {
		return false
	}
	p := b.Parts.pool(l.Pool)
	return p != nil && p.Members > 0 && p.Members < len(v.serves())
}
