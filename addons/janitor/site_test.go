package janitor

import (
	"fmt"
	"maps"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// connect makes the cluster's network, as CAPO would.
func (s *site) connect() {
	s.Helper()
	client := s.cloud.Member.Network(s.T)
	network, err := networks.Create(s.Context(), client, networks.CreateOpts{Name: "k8s-clusterapi-cluster-" + s.Namespace + "-" + s.Name}).Extract()
	s.network = must(s.T, network, err).ID
	subnet, err := subnets.Create(s.Context(), client, subnets.CreateOpts{NetworkID: s.network, CIDR: "10.6.0.0/24", IPVersion: 4}).Extract()
	s.subnet = must(s.T, subnet, err).ID
	router, err := routers.Create(s.Context(), client, routers.CreateOpts{Name: s.Name, GatewayInfo: &routers.GatewayInfo{NetworkID: s.external()}}).Extract()
	s.router = must(s.T, router, err).ID
	_, err = routers.AddInterface(s.Context(), client, s.router, routers.AddInterfaceOpts{SubnetID: s.subnet}).Extract()
	present(s.T, "router interface", err)
}

func (s *site) external() string {
	s.Helper()
	yes := true
	pages, err := networks.List(s.cloud.Member.Network(s.T), external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: &yes}).AllPages(s.Context())
	found := must(s.T, pages, err)
	all, err := networks.ExtractNetworks(found)
	return must(s.T, all, err)[0].ID
}

// service is what OCCM makes for a Service of type LoadBalancer.
type service struct{ balancer, address, group string }

func (s *site) service(name string) service {
	s.Helper()
	lb, err := loadbalancers.Create(s.Context(), s.cloud.Member.LoadBalancer(s.T),
		loadbalancers.CreateOpts{Name: fmt.Sprintf("kube_service_%s_default_%s", s.Name, name), VipSubnetID: s.subnet}).Extract()
	made := must(s.T, lb, err)
	return service{made.ID, s.address(fmt.Sprintf("Floating IP for Kubernetes external service default/%s from cluster %s", name, s.Name), made.VipPortID),
		s.group(fmt.Sprintf("Security Group for default/%s Service LoadBalancer in cluster %s", name, s.Name))}
}

func (s *site) address(description, port string) string {
	s.Helper()
	made, err := floatingips.Create(s.Context(), s.cloud.Member.Network(s.T),
		floatingips.CreateOpts{FloatingNetworkID: s.external(), Description: description, PortID: port}).Extract()
	return must(s.T, made, err).ID
}

func (s *site) group(description string) string {
	s.Helper()
	made, err := groups.Create(s.Context(), s.cloud.Member.Network(s.T), groups.CreateOpts{Name: "lb-sg", Description: description}).Extract()
	return must(s.T, made, err).ID
}

// volume is what Cinder CSI makes for a claim.
func (s *site) volume(more map[string]string) string {
	s.Helper()
	metadata := map[string]string{ClusterKey: s.Name}
	maps.Copy(metadata, more)
	made, err := volumes.Create(s.Context(), s.cloud.Member.BlockStorage(s.T), volumes.CreateOpts{Name: "pvc", Size: 1, Metadata: metadata}, nil).Extract()
	return must(s.T, made, err).ID
}

func (s *site) snapshot(volume string, metadata map[string]string) string {
	s.Helper()
	if err := volumes.WaitForStatus(s.Context(), s.cloud.Member.BlockStorage(s.T), volume, "available"); err != nil {
		s.Fatal(err)
	}
	made, err := snapshots.Create(s.Context(), s.cloud.Member.BlockStorage(s.T), snapshots.CreateOpts{VolumeID: volume, Name: "snapshot", Metadata: metadata, Force: true}).Extract()
	return must(s.T, made, err).ID
}

func (s *site) mark() map[string]string { return map[string]string{ClusterKey: s.Name} }

func (w *world) getVolume(id string) error {
	return volumes.Get(w.Context(), w.cloud.Member.BlockStorage(w), id).Err
}

func (w *world) getSnapshot(id string) error {
	return snapshots.Get(w.Context(), w.cloud.Member.BlockStorage(w), id).Err
}

func (w *world) getBalancer(id string) error {
	return loadbalancers.Get(w.Context(), w.cloud.Member.LoadBalancer(w), id).Err
}

func (w *world) getAddress(id string) error {
	return floatingips.Get(w.Context(), w.cloud.Member.Network(w), id).Err
}

func (w *world) getGroup(id string) error {
	return groups.Get(w.Context(), w.cloud.Member.Network(w), id).Err
}

func (w *world) balancerNamed(name, subnet string) string {
	w.Helper()
	made, err := loadbalancers.Create(w.Context(), w.cloud.Member.LoadBalancer(w), loadbalancers.CreateOpts{Name: name, VipSubnetID: subnet}).Extract()
	return must(w, made, err).ID
}

func (w *world) removeSnapshot(id string) error {
	return snapshots.Delete(w.Context(), w.cloud.Member.BlockStorage(w), id).ExtractErr()
}

// changeable waits until a load balancer is at rest: Octavia refuses changes of
// one that changes.
func (s *site) changeable(id string) {
	s.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		balancer, err := loadbalancers.Get(s.Context(), s.cloud.Member.LoadBalancer(s.T), id).Extract()
		if status := must(s.T, balancer, err).ProvisioningStatus; status == "ACTIVE" {
			return
		} else if time.Now().After(end) {
			s.Fatalf("load balancer %s is still %s", id, status)
		}
	}
}

// balancerWithMember makes a load balancer with its address on one subnet and a
// member on another.
func (s *site) balancerWithMember(vip, member string) string {
	s.Helper()
	client := s.cloud.Member.LoadBalancer(s.T)
	id := s.balancerNamed("kube_service_"+s.Name+"_default_"+member[:8], vip)
	s.changeable(id)
	pool, err := pools.Create(s.Context(), client, pools.CreateOpts{LoadbalancerID: id, Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin}).Extract()
	made := must(s.T, pool, err)
	s.changeable(id)
	_, err = pools.CreateMember(s.Context(), client, made.ID, pools.CreateMemberOpts{Address: "10.6.0.9", ProtocolPort: 30080, SubnetID: member}).Extract()
	present(s.T, "member", err)
	return id
}
