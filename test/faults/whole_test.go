package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/cause"
)

// whole is all that a cluster which runs has in the cloud, made as CAPO makes it.
type whole struct {
	*world
	outside, network, subnet, router, address    string
	group                                        map[string]string // by "controlplane" and "worker"
	balancerID, vip, listener, pool, member, fip string
	// server and port are by the machine's name.
	server, port map[string]string
}

func (w *world) net() *gophercloud.ServiceClient { return w.box.Member.Network(w.T) }
func (w *world) lbs() *gophercloud.ServiceClient { return w.box.Member.LoadBalancer(w.T) }

// ok ends the test on an error.
func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// whole makes a cluster.
func (w *world) whole() *whole {
	w.Helper()
	c := &whole{world: w, group: map[string]string{}, server: map[string]string{}, port: map[string]string{}}
	c.outside = w.external()
	const name = "k8s-clusterapi-cluster-prod-shop"
	c.network = must(networks.Create(w.Context(), w.net(), networks.CreateOpts{Name: name}).Extract())(w).ID
	c.subnet = must(subnets.Create(w.Context(), w.net(), subnets.CreateOpts{NetworkID: c.network, IPVersion: 4, CIDR: "10.6.0.0/24", Name: name, DNSNameservers: []string{"9.9.9.9"}}).Extract())(w).ID
	c.router = must(routers.Create(w.Context(), w.net(), routers.CreateOpts{Name: name, GatewayInfo: &routers.GatewayInfo{NetworkID: c.outside}}).Extract())(w).ID
	must(routers.AddInterface(w.Context(), w.net(), c.router, routers.AddInterfaceOpts{SubnetID: c.subnet}).Extract())(w)
	for kind, open := range map[string][]int{"controlplane": {6443, 10250, 2379}, "worker": {10250}} {
		c.group[kind] = must(groups.Create(w.Context(), w.net(), groups.CreateOpts{Name: "k8s-cluster-prod-shop-secgroup-" + kind}).Extract())(w).ID
		for _, port := range open {
			must(rules.Create(w.Context(), w.net(), rules.CreateOpts{SecGroupID: c.group[kind], Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: port, PortRangeMax: port}).Extract())(w)
		}
	}
	for machine, kind := range map[string]string{"shop-cp1": "controlplane", "shop-w1": "worker"} {
		pairs := []ports.AddressPair{{IPAddress: "10.6.0.200"}}
		c.port[machine] = must(ports.Create(w.Context(), w.net(), ports.CreateOpts{NetworkID: c.network, Name: machine + "-0", SecurityGroups: &[]string{c.group[kind]}, AllowedAddressPairs: pairs}).Extract())(w).ID
		c.server[machine] = w.server("ACTIVE", func(o *servers.CreateOpts) { o.Name, o.Networks = machine, []servers.Network{{Port: c.port[machine]}} })
	}
	c.balance()
	return c
}

// balance makes the API's load balancer with its address.
func (c *whole) balance() {
	lb := must(loadbalancers.Create(c.Context(), c.lbs(), loadbalancers.CreateOpts{Name: balancer, VipSubnetID: c.subnet, Provider: "ovn"}).Extract())(c.world)
	c.balancerID, c.vip = lb.ID, lb.VipPortID
	c.settled()
	c.listener = must(listeners.Create(c.Context(), c.lbs(), listeners.CreateOpts{Name: balancer + "-6443", LoadbalancerID: lb.ID, Protocol: "TCP", ProtocolPort: 6443}).Extract())(c.world).ID
	c.settled()
	c.pool = must(pools.Create(c.Context(), c.lbs(), pools.CreateOpts{Name: balancer + "-6443", ListenerID: c.listener, Protocol: "TCP", LBMethod: "SOURCE_IP_PORT"}).Extract())(c.world).ID
	c.settled()
	c.member = must(pools.CreateMember(c.Context(), c.lbs(), c.pool, pools.CreateMemberOpts{Name: balancer + "-6443-shop-cp1", Address: "10.6.0.11", ProtocolPort: 6443}).Extract())(c.world).ID
	c.settled()
	fip := must(floatingips.Create(c.Context(), c.net(), floatingips.CreateOpts{FloatingNetworkID: c.outside, PortID: c.vip}).Extract())(c.world)
	c.fip, c.address = fip.ID, fip.FloatingIP
}

// settled waits until the load balancer takes changes.
func (c *whole) settled() {
	c.Helper()
	c.eventually("load balancer", func() bool {
		return must(loadbalancers.Get(c.Context(), c.lbs(), c.balancerID).Extract())(c.world).ProvisioningStatus == "ACTIVE"
	})
}

// objects are the cluster's as CAPO notes them.
func (c *whole) objects() string {
	text := fmt.Sprintf(`
kind: OpenStackCluster
metadata: {name: shop}
spec: {managedSubnets: [{cidr: 10.6.0.0/24, dnsNameservers: [9.9.9.9]}], managedSecurityGroups: {allNodesSecurityGroupRules: []}}
status: {ready: true, network: {id: %s, name: nodes, subnets: [{id: %s, name: nodes}]}, router: {id: %s, name: r}, apiServerLoadBalancer: {id: %s, name: %s, ip: %s},
  controlPlaneSecurityGroup: {id: %s, name: control}, workerSecurityGroup: {id: %s, name: worker}}
`, c.network, c.subnet, c.router, c.balancerID, balancer, c.address, c.group["controlplane"], c.group["worker"])
	for machine, id := range c.server {
		text += fmt.Sprintf(`---
kind: Machine
metadata: {name: %s}
spec: {providerID: "openstack:///%s"}
---
kind: OpenStackMachine
metadata: {name: %s}
spec: {ports: [{allowedAddressPairs: [{ipAddress: 10.6.0.200}]}]}
`, machine, id, machine)
	}
	return text
}

// on is a fault of a cluster that runs: a change in the cloud that Cluster API does not know.
func on(fault, reason, object string, change func(*whole)) planted {
	return planted{fault: fault, reason: reason, object: object, run: func(w *world) string {
		c := w.whole()
		change(c)
		return c.objects()
	}}
}

// TestAWholeClusterIsWell: what CAPO makes is not taken for a fault.
func TestAWholeClusterIsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.whole()
	all := objects(t, c.objects())
	said := w.ask(all)
	if len(said.Balancers) != 1 || said.Balancers[0].Parts == nil || len(said.Balancers[0].Parts.Pools) != 1 || len(said.Subnets) == 0 || len(said.Missing) > 0 {
		t.Fatalf("the cloud was not read whole: %+v", said)
	}
	if a := cause.Explain(cause.Snapshot{Objects: all, Cloud: said, Now: time.Now()}); len(a.Findings) > 0 {
		t.Errorf("found %+v", a.Findings)
	} else {
		for _, want := range []string{"it has a listener for TCP port 6443, a pool and members", "floating IP " + c.address + " is associated", "the subnet of the machines has DHCP and a gateway"} {
			if !slices.Contains(a.Well, want) {
				t.Errorf("it does not say %q: %v", want, a.Well)
			}
		}
	}
}

// becomes waits until a server has a status.
func (c *whole) becomes(machine, status string) {
	c.Helper()
	c.eventually(machine+" "+status, func() bool {
		s := must(servers.Get(c.Context(), c.box.Member.Compute(c.T), c.server[machine]).Extract())(c.world)
		return s.Status == status && s.TaskState == ""
	})
}

// unrule deletes the rules of a security group of one direction.
func (c *whole) unrule(group string, direction rules.RuleDirection) {
	c.Helper()
	for _, r := range must(groups.Get(c.Context(), c.net(), group).Extract())(c.world).Rules {
		if r.Direction == string(direction) {
			c.ok(rules.Delete(c.Context(), c.net(), r.ID).ExtractErr())
		}
	}
}

// unreached is a cluster whose API Cluster API does not reach.
const unreached = `
kind: Cluster
metadata: {name: shop}
status: {observedGeneration: 2, phase: Provisioned, conditions: [{type: Available, status: "False", message: "* RemoteConnectionProbe: Remote connection probe failed, probe last succeeded at 2026-01-02T08:59:00Z"},
  {type: RemoteConnectionProbe, status: "False", reason: ProbeFailed, message: "Remote connection probe failed, probe last succeeded at 2026-01-02T08:59:00Z", lastTransitionTime: "2026-01-02T09:00:00Z"}]}
---
kind: KubeadmControlPlane
metadata: {name: shop-control-plane}
status: {observedGeneration: 1, replicas: 1, conditions: [{type: Available, status: Unknown, reason: NotAvailable, message: "* EtcdClusterHealthy: Last successful probe at 2026-01-02T08:59:00Z", lastTransitionTime: "2026-01-02T09:00:00Z"},
  {type: EtcdClusterHealthy, status: Unknown, reason: ConnectionDown, message: "Last successful probe at 2026-01-02T08:59:00Z", lastTransitionTime: "2026-01-02T09:00:00Z"}]}
---
kind: Machine
metadata: {name: shop-w1}
status: {phase: Running, nodeRef: {name: shop-w1}, conditions: [{type: Ready, status: Unknown, reason: ReadyUnknown, message: "* NodeHealthy: Last successful probe at 2026-01-02T08:59:00Z"},
  {type: NodeHealthy, status: Unknown, reason: ConnectionDown, message: "Last successful probe at 2026-01-02T08:59:00Z", lastTransitionTime: "2026-01-02T09:00:00Z"}]}
`

// felt is a fault of a cluster that runs, with what Cluster API says when it does not reach it.
func felt(p planted) planted {
	run := p.run
	p.fault += ", with all that follows"
	p.run = func(w *world) string { return run(w) + "---" + unreached }
	return p
}

// TestAnAPIThatIsNotReachedFollowsFromWhatCarriesIt: each change of what the API stands on is
// told alone, whatever Cluster API says of the connection it lost.
func TestAnAPIThatIsNotReachedFollowsFromWhatCarriesIt(t *testing.T) {
	t.Parallel()
	for _, p := range wholeCases() {
		if p.run == nil || strings.Contains(p.object, "w1") || strings.Contains(p.fault, "follows") || p.reason == "cloud-service-error" {
			continue
		}
		t.Run(p.fault, func(t *testing.T) {
			t.Parallel()
			o := felt(p).ask(t)
			if len(o.answer.Findings) != 1 || o.answer.Findings[0].Reason != p.reason {
				for _, f := range o.answer.Findings {
					t.Errorf("%s [%s]", f.Line(), f.Reason)
				}
			}
		})
	}
}
