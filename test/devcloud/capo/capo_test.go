package capo

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAClusterIsMadeAndLeavesNothing has Cluster API and CAPO of the bundle make
// a cluster's network, load balancer and machines and delete them again, while
// the janitor deletes what Services and claims would have left on them. What
// clusters of similar names have stays.
//
// proves: F141
func TestAClusterIsMadeAndLeavesNothing(t *testing.T) {
	p := newProject(t)
	m := newManagement(t)
	name := unique()
	subnet := p.neighborhood("beside-" + name)
	neighbors := []*left{p.leave(name+"-2", subnet, "10.62.0.200"), p.leave("non"+name, subnet, "10.62.0.201")}
	image := p.bootless(name)
	before := p.counts()

	c := makeCluster(p, m, name, image)
	defer c.delete() // also when the test ends early: the cloud may be one that stays
	mine := c.live()
	p.expectSeen(before)
	c.delete()

	mine.want(false)
	for _, neighbor := range neighbors {
		neighbor.want(true)
	}
	if _, err := c.object("v1", "Secret", name+"-cloud-credentials"); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret of the credential is there (%v)", err)
	}
	for what, number := range p.counts() {
		if number != before[what] {
			t.Errorf("the cluster left something: %s has %s, not %s", what, number, before[what])
		}
	}
}

// expectSeen checks that the counts see the cluster: what they are blind for would
// not be missed either. A cluster has some of most kinds.
func (p *project) expectSeen(before map[string]string) {
	p.Helper()
	var unseen []string
	for what, number := range p.counts() {
		if number == before[what] {
			unseen = append(unseen, what)
		}
	}
	p.Logf("no more while the cluster lives: %s", strings.Join(unseen, "; "))
	if len(unseen) > len(before)/2 {
		p.Error("the counts do not see the cluster")
	}
}

// live checks the cluster's parts in the cloud, and gives it workloads.
func (c *cluster) live() *left {
	c.Helper()
	below := c.provisioned(infrastructureAPI, "OpenStackCluster", c.name)
	above := c.provisioned(coreAPI, "Cluster", c.name)
	address := c.text(below, "status", "apiServerLoadBalancer", "ip")
	if endpoint := c.text(above, "spec", "controlPlaneEndpoint", "host"); endpoint != address {
		c.Errorf("the endpoint is %s, the floating IP of the load balancer %s", endpoint, address)
	}
	var worker servers.Server
	for role := range machines() {
		machine := c.provisioned(infrastructureAPI, "OpenStackMachine", c.name+"-"+role)
		server := need(servers.Get(c.Context(), c.compute, c.text(machine, "status", "instanceID")).Extract())(c)
		if server.Status != "ACTIVE" || server.Name != c.name+"-"+role {
			c.Errorf("server %s is %s", server.Name, server.Status)
		}
		if role == "worker" {
			worker = *server
		} else {
			c.expectMember(c.text(below, "status", "apiServerLoadBalancer", "id"), c.portOf(server.ID))
		}
	}
	c.expectGroups(below)
	return c.workloads(below, worker.ID)
}

// expectMember checks that the API's load balancer leads to the control plane.
func (c *cluster) expectMember(balancer string, port ports.Port) {
	c.Helper()
	if lb := need(loadbalancers.Get(c.Context(), c.balancer, balancer).Extract())(c); !strings.Contains(lb.Name, c.name) {
		c.Errorf("load balancer %s does not have the cluster's name", lb.Name)
	}
	eventually(c.T, "the load balancer's member", time.Minute, func() error {
		members, err := c.members(balancer)
		if err == nil && (len(members) != 1 || members[0].Address != port.FixedIPs[0].IPAddress) {
			err = fmt.Errorf("members %+v, want the control plane at %s", members, port.FixedIPs[0].IPAddress)
		}
		return err
	})
}

// members are those of a load balancer's only pool.
func (c *cluster) members(balancer string) ([]pools.Member, error) {
	pages, err := pools.List(c.balancer, pools.ListOpts{LoadbalancerID: balancer}).AllPages(c.Context())
	if err != nil {
		return nil, err
	}
	found, err := pools.ExtractPools(pages)
	if err != nil || len(found) != 1 {
		return nil, errors.Join(err, fmt.Errorf("there are %d pools, want 1", len(found)))
	}
	pages, err = pools.ListMembers(c.balancer, found[0].ID, nil).AllPages(c.Context())
	if err != nil {
		return nil, err
	}
	return pools.ExtractMembers(pages)
}

// expectGroups checks that there is a security group for each role.
func (c *cluster) expectGroups(below *unstructured.Unstructured) {
	c.Helper()
	for _, role := range []string{"controlPlaneSecurityGroup", "workerSecurityGroup"} {
		if name := c.text(below, "status", role, "name"); !strings.Contains(name, c.name) {
			c.Errorf("%s is %s, without the cluster's name", role, name)
		}
	}
}

// workloads are a Service and a claim: its group is on the worker's port, its
// volume attached.
func (c *cluster) workloads(below *unstructured.Unstructured, worker string) *left {
	c.Helper()
	port := c.portOf(worker)
	l := c.leave(c.name, port.FixedIPs[0].SubnetID, port.FixedIPs[0].IPAddress)
	both := append(port.SecurityGroups, l.group)
	need(ports.Update(c.Context(), c.network, port.ID, ports.UpdateOpts{SecurityGroups: &both}).Extract())(c)
	need(volumeattach.Create(c.Context(), c.compute, worker, volumeattach.CreateOpts{VolumeID: l.volume}).Extract())(c)
	l.want(true)
	return l
}
