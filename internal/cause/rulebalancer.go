package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pending is how long a load balancer may be PENDING.
const pending = 10 * time.Minute

// balancerRules are about the load balancer of the Kubernetes API.
func balancerRules() []Rule {
	return []Rule{
		{ID: "load-balancer-error", Layer: "Octavia", Ending: Outside, Meaning: "Octavia put the load balancer of the Kubernetes API into ERROR.",
			// CAPO looks for it by its name, also when the cluster is complete, and creates it with the address in its status.
			Fix: "ask the cloud's operator for openstack loadbalancer failover LOAD-BALANCER, or delete it with openstack loadbalancer delete --cascade LOAD-BALANCER: within twenty minutes Cluster API creates another with the same address, and with the floating IP, which you must keep; if that ends in ERROR too, only the cloud's operator can help",
			find: balancers(func(v *scene, b Balancer) (string, bool) {
				if v.silent(b) {
					return "its operating status is ERROR, although members are ONLINE", true
				}
				if words, is := v.part(b, func(provisioning string, _ bool) (string, bool) { return provisioning, provisioning == "ERROR" }); is && b.Provisioning != "ERROR" {
					return words, true
				}
				return "its provisioning status is ERROR", b.Provisioning == "ERROR"
			})},
		{ID: "load-balancer-pending", Layer: "Octavia", Ending: Outside, Meaning: "The load balancer of the Kubernetes API stays in a pending state: Octavia does not finish it.", kind: "load balancer",
			Fix: "ask the cloud's operator about Octavia's workers: only they can end a pending state; Cluster API then continues by itself",
			find: balancers(func(v *scene, b Balancer) (string, bool) {
				at := b.Updated
				if at.IsZero() {
					at = b.Created
				}
				return fmt.Sprintf("it is %s for more than %s", b.Provisioning, pending), strings.HasPrefix(b.Provisioning, "PENDING_") && !at.IsZero() && v.Now.Sub(at) > pending
			}),
			words: regexp.MustCompile(`load balancer "(?P<object>[^"]+)" with id [\w-]+ is not active after timeout`),
			not: func(v *scene, _ complaint, name string) bool {
				b := v.Cloud.balancer("", name)
				return b != nil && (b.Provisioning == "ACTIVE" || b.Provisioning == "ERROR") // well again, or told as such
			}},
		{ID: "load-balancer-member-down", Layer: "Octavia", Ending: Outside, Meaning: "The load balancer of the Kubernetes API cannot reach a control plane.",
			Fix:  "see whether the server runs, whether its security group lets the load balancer in, and whether the API server listens: slipway why MACHINE",
			find: downMembers},
		{ID: "load-balancer-refused", Layer: "Octavia", Ending: Outside, Meaning: "Octavia refuses to create or change the load balancer of the Kubernetes API.",
			Fix:   "read Octavia's words; correct the provider or flavor of the load balancer in the cluster's settings",
			words: regexp.MustCompile(`(?i)provider '?[\w-]+'? (is not enabled|was not found)|octavia.*\b400\b`)},
	}
}

// api is the load balancer of the cluster's Kubernetes API, nil if there is none.
func (v *scene) api() *Balancer {
	if !v.Cloud.knows(ListBalancers) || v.cluster == nil || v.ending() {
		return nil
	}
	return v.Cloud.balancer(text(v.infrastructure, "status", "apiServerLoadBalancer", "id"), "k8s-clusterapi-cluster-"+v.resource()+"-kubeapi")
}

// balancers is a hit if the API's load balancer is as told. It is found by the name that
// CAPO gives it, because CAPO writes its id only after minutes of waiting.
func balancers(told func(*scene, Balancer) (string, bool)) func(*scene) []hit {
	return func(v *scene) []hit {
		b := v.api()
		if b == nil {
			return nil
		}
		words, yes := told(v, *b)
		if !yes {
			return nil
		}
		since := b.Updated
		if since.IsZero() {
			since = b.Created
		}
		object := v.under(v.infra(), Ref{Kind: "load balancer", Name: b.Name, ID: b.ID})
		return []hit{{object: object, cause: words, since: since, source: "Octavia", evidence: []string{fmt.Sprintf("Octavia: load balancer %s: provisioning status %s, operating status %s", b.Name, b.Provisioning, b.Operating)}}}
	}
}

// downMembers are members that the health monitor cannot reach. While a machine boots,
// that is as it should be.
func downMembers(v *scene) []hit {
	b := v.api()
	if b == nil || b.Provisioning == "ERROR" {
		return nil
	}
	object := v.under(v.infra(), Ref{Kind: "load balancer", Name: b.Name, ID: b.ID})
	var down, machines []string
	for _, m := range b.Members {
		i := slices.IndexFunc(v.members, func(own member) bool {
			return own.machine != nil && own.node() && !own.leaving() && own.is(m)
		})
		if i < 0 || m.Operating != "ERROR" && m.Operating != "OFFLINE" {
			continue
		}
		if own := v.members[i]; own.nova != nil && own.nova.Status != "ACTIVE" || own.id != "" && own.nova == nil && v.Cloud.knows(ListServers) {
			continue // it follows from its server
		}
		down = append(down, fmt.Sprintf("member %s (%s) is %s", m.Name, m.Address, m.Operating))
		machines = append(machines, v.members[i].machine.GetName())
	}
	if len(down) == 0 {
		return nil
	}
	return []hit{{object: object, cause: strings.Join(down, "; "), source: "Octavia", evidence: down, machines: machines}}
}

// silent reports whether a load balancer itself is not well, although its members are: all
// its amphorae are down, say. Its members are known only if it was looked at closer.
func (v *scene) silent(b Balancer) bool {
	well := func(m Member) bool { return m.Operating == "ONLINE" || m.Operating == "NO_MONITOR" }
	return b.Operating == "ERROR" && !b.Disabled && b.Provisioning != "ERROR" && slices.ContainsFunc(b.Members, well) && len(v.serves()) > 0 && v.completeWhenAsked()
}

// is reports whether a machine is a member of a load balancer.
func (m member) is(of Member) bool {
	return m.machine.GetName() == of.Name || strings.HasSuffix(of.Name, "-"+m.machine.GetName()) || m.addressed(of.Address)
}

// addressed reports whether a machine has an address.
func (m member) addressed(address string) bool {
	list, _, _ := nestedSlice(m.machine.Object, "status", "addresses")
	return slices.ContainsFunc(list, func(one any) bool {
		fields, _ := one.(map[string]any)
		return fields["address"] == address && address != ""
	})
}
