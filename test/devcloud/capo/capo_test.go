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
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
			balancer := c.text(below, "status", "apiServerLoadBalancer", "id")
			c.expectMember(balancer, c.portOf(server.ID))
			c.expectReadiness(balancer)
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

// expectReadiness checks that the load balancer asks API servers whether they are ready, also
// where an earlier release had it ask whether something listens.
func (c *cluster) expectReadiness(balancer string) {
	c.Helper()
	was := need(c.monitor(balancer))(c)
	const path = "/readyz?exclude=etcd&exclude=etcd-readiness"
	if was.Type != monitors.TypeHTTPS || was.URLPath != path || was.ExpectedCodes != "200,401" {
		c.Errorf("the load balancer asks %s %s for %s", was.Type, was.URLPath, was.ExpectedCodes)
	}
	active := func() error {
		lb, err := loadbalancers.Get(c.Context(), c.balancer, balancer).Extract()
		if err == nil && lb.ProvisioningStatus != "ACTIVE" {
			err = errors.New("it is " + lb.ProvisioningStatus)
		}
		return err
	}
	eventually(c.T, "the load balancer", time.Minute, active)
	if err := monitors.Delete(c.Context(), c.balancer, was.ID).ExtractErr(); err != nil {
		c.Fatal(err)
	}
	eventually(c.T, "the load balancer without its monitor", time.Minute, active)
	older := monitors.CreateOpts{Name: was.Name, PoolID: was.Pools[0].ID, Type: monitors.TypeTCP, Delay: was.Delay, Timeout: was.Timeout, MaxRetries: was.MaxRetries}
	need(monitors.Create(c.Context(), c.balancer, older).Extract())(c)
	eventually(c.T, "the load balancer with an older monitor", time.Minute, active)
	object := need(c.object(infrastructureAPI, "OpenStackCluster", c.name))(c)
	client := need(c.management.kube.Resource(object))(c)
	look := []byte(`{"metadata":{"annotations":{"slipway.sh/test":"look"}}}`)
	need(client.Patch(c.Context(), c.name, types.MergePatchType, look, metav1.PatchOptions{}))(c)
	eventually(c.T, "the replacement of an older monitor", time.Minute, func() error {
		now, err := c.monitor(balancer)
		if err == nil && (now.Type != monitors.TypeHTTPS || now.URLPath != path || now.Delay != was.Delay) {
			err = fmt.Errorf("it asks %s %s every %d s", now.Type, now.URLPath, now.Delay)
		}
		return err
	})
}

// monitor is that of a load balancer's only pool.
func (c *cluster) monitor(balancer string) (*monitors.Monitor, error) {
	pool, err := c.pool(balancer)
	if err != nil {
		return nil, err
	}
	if pool.MonitorID == "" {
		return nil, errors.New("the load balancer has no monitor")
	}
	return monitors.Get(c.Context(), c.balancer, pool.MonitorID).Extract()
}

// members are those of a load balancer's only pool.
func (c *cluster) members(balancer string) ([]pools.Member, error) {
	pool, err := c.pool(balancer)
	if err != nil {
		return nil, err
	}
	pages, err := pools.ListMembers(c.balancer, pool.ID, nil).AllPages(c.Context())
	if err != nil {
		return nil, err
	}
	return pools.ExtractMembers(pages)
}

// pool is the only one of a load balancer.
func (c *cluster) pool(balancer string) (*pools.Pool, error) {
	pages, err := pools.List(c.balancer, pools.ListOpts{LoadbalancerID: balancer}).AllPages(c.Context())
	if err != nil {
		return nil, err
	}
	found, err := pools.ExtractPools(pages)
	if err != nil || len(found) != 1 {
		return nil, errors.Join(err, fmt.Errorf("there are %d pools, want 1", len(found)))
	}
	return &found[0], nil
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
