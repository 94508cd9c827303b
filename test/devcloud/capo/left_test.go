package capo

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
)

// left is what workloads of one cluster have in OpenStack, made as
// cloud-provider-openstack's controller manager and Cinder CSI (v1.34.1) do it
// for a Service default/web and a claim. Nothing but these marks says whose it is.
type left struct {
	*project
	cluster                                         string
	balancer, vip, address, group, volume, snapshot string
}

// leave makes it, with the load balancer on a subnet. Whatever is still there
// when the test ends is deleted then.
func (p *project) leave(cluster, subnet, member string) *left {
	p.Helper()
	l := &left{project: p, cluster: cluster}
	l.makeBalancer(subnet, member)
	l.makeAddress()
	l.makeGroup()
	l.makeVolume()
	l.makeSnapshot()
	return l
}

// makeBalancer makes all of a load balancer by one call, as the controller manager does.
func (l *left) makeBalancer(subnet, member string) {
	l.Helper()
	name := fmt.Sprintf("kube_service_%s_default_web", l.cluster)
	made := need(loadbalancers.Create(l.Context(), l.project.balancer, loadbalancers.CreateOpts{
		Name: name, Tags: []string{name}, VipSubnetID: subnet,
		Description: fmt.Sprintf("Kubernetes external service default/web from cluster %s", l.cluster),
		Listeners: []listeners.CreateOpts{{Name: "listener_0_" + name, Protocol: listeners.ProtocolTCP, ProtocolPort: 80,
			DefaultPool: &pools.CreateOpts{Name: "pool_0_" + name, Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Address: member, ProtocolPort: 30080, SubnetID: subnet}},
				Monitor: &monitors.CreateOpts{Name: "monitor_0_" + name, Type: monitors.TypeTCP, Delay: 10, Timeout: 10, MaxRetries: 1}}}},
	}).Extract())(l)
	l.balancer, l.vip = made.ID, made.VipPortID
	l.after("load balancer", func(ctx context.Context) error {
		return loadbalancers.Delete(ctx, l.project.balancer, made.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
	})
	eventually(l.T, "load balancer "+name, time.Minute, func() error {
		now, err := loadbalancers.Get(l.Context(), l.project.balancer, made.ID).Extract()
		if err == nil && now.ProvisioningStatus != "ACTIVE" {
			err = fmt.Errorf("it is %s", now.ProvisioningStatus)
		}
		return err
	})
}

func (l *left) makeAddress() {
	l.Helper()
	made := need(floatingips.Create(l.Context(), l.network, floatingips.CreateOpts{FloatingNetworkID: l.external(), PortID: l.vip,
		Description: fmt.Sprintf("Floating IP for Kubernetes external service default/web from cluster %s", l.cluster)}).Extract())(l)
	l.address = made.ID
	l.after("floating IP", func(ctx context.Context) error { return floatingips.Delete(ctx, l.network, made.ID).ExtractErr() })
}

func (l *left) makeGroup() {
	l.Helper()
	made := need(groups.Create(l.Context(), l.network, groups.CreateOpts{Name: fmt.Sprintf("lb-sg-%s-default-web", rand.Text()),
		Description: fmt.Sprintf("Security Group for default/web Service LoadBalancer in cluster %s", l.cluster)}).Extract())(l)
	l.group = made.ID
	l.after("security group", func(ctx context.Context) error { return groups.Delete(ctx, l.network, made.ID).ExtractErr() })
}

func (l *left) makeVolume() {
	l.Helper()
	made := need(volumes.Create(l.Context(), l.project.volume, volumes.CreateOpts{Name: "pvc-" + rand.Text(), Size: 1, Description: "Created by OpenStack Cinder CSI driver",
		Metadata: map[string]string{"cinder.csi.openstack.org/cluster": l.cluster, "csi.storage.k8s.io/pvc/name": "data",
			"csi.storage.k8s.io/pvc/namespace": "default", "csi.storage.k8s.io/pv/name": "pvc-data"}}, nil).Extract())(l)
	l.volume = made.ID
	l.after("volume", func(ctx context.Context) error {
		return volumes.Delete(ctx, l.project.volume, made.ID, nil).ExtractErr()
	})
	eventually(l.T, "volume of "+l.cluster, time.Minute, func() error {
		now, err := volumes.Get(l.Context(), l.project.volume, made.ID).Extract()
		if err == nil && now.Status != "available" {
			err = fmt.Errorf("it is %s", now.Status)
		}
		return err
	})
}

func (l *left) makeSnapshot() {
	l.Helper()
	made := need(snapshots.Create(l.Context(), l.project.volume, snapshots.CreateOpts{VolumeID: l.volume, Name: "snapshot-" + rand.Text(),
		Metadata: map[string]string{"cinder.csi.openstack.org/cluster": l.cluster}}).Extract())(l)
	l.snapshot = made.ID
	l.after("snapshot", func(ctx context.Context) error {
		err := snapshots.Delete(ctx, l.project.volume, made.ID).ExtractErr()
		for ; err == nil && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) { // its volume is deleted next
			err = snapshots.Get(ctx, l.project.volume, made.ID).Err
		}
		return err
	})
}

// there tells for each thing whether it exists.
func (l *left) there() map[string]bool {
	l.Helper()
	found := map[string]bool{}
	for what, err := range map[string]error{
		"load balancer":  loadbalancers.Get(l.Context(), l.project.balancer, l.balancer).Err,
		"floating IP":    floatingips.Get(l.Context(), l.network, l.address).Err,
		"security group": groups.Get(l.Context(), l.network, l.group).Err,
		"volume":         volumes.Get(l.Context(), l.project.volume, l.volume).Err,
		"snapshot":       snapshots.Get(l.Context(), l.project.volume, l.snapshot).Err,
	} {
		if err != nil && !gophercloud.ResponseCodeIs(err, 404) {
			l.Fatalf("looking for %s: %v", what, err)
		}
		found[what] = err == nil
	}
	return found
}

// want checks that all of it is there, or nothing.
func (l *left) want(there bool) {
	l.Helper()
	for what, is := range l.there() {
		if is != there {
			l.Errorf("%s of cluster %s: there is %t, want %t", what, l.cluster, is, there)
		}
	}
}
