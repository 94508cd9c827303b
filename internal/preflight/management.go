package preflight

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
)

// The minimum for a node: kubeadm refuses one with a single CPU or less than
// 1700 MiB, and etcd beside a loaded API server needs more.
const (
	minNodeVCPUs = 2
	minNodeRAM   = 4096 // MiB
)

// controlPlane is the group of the control plane's machines.
const controlPlane = "control-plane"

// clusterStep is the step whose ownership tag Cluster API puts on what it creates.
const clusterStep = "management-cluster"

// ManagementChoices are the cloud's resources that the management cluster uses.
type ManagementChoices struct {
	// ControlPlaneFlavor and NodeGroupFlavors are names: Cluster API's provider
	// accepts no IDs in the versions that charts are compatible with.
	ControlPlaneFlavor string            `json:"controlPlaneFlavor,omitempty"`
	NodeGroupFlavors   map[string]string `json:"nodeGroupFlavors,omitempty"`
	// ImageID is the nodes' image in the cloud. If empty, an image is to be
	// uploaded: the one of spec.images named ListedImage, or the bundle's.
	ImageID     string `json:"imageID,omitempty"`
	ListedImage string `json:"listedImage,omitempty"`
}

// checkManagement chooses flavors and image of the management cluster.
func checkManagement(r *run) {
	m := r.spec.ManagementCluster
	if m == nil {
		return
	}
	chosen := &ManagementChoices{NodeGroupFlavors: map[string]string{}}
	r.result.Choices.Management = chosen
	if r.Snapshot.Known(cloud.Compute, cloud.ListFlavors) {
		r.nodeFlavors(m, chosen)
	}
	if m.Image != "" {
		r.nodeImage(m, chosen)
	} else {
		r.bundleImage(m)
	}
	if provider := m.APIServer.LoadBalancerProvider; provider != "" {
		r.givenProvider(provider)
	}
	if r.Snapshot.Lacks(cloud.LoadBalancer) {
		r.find(Error, "service load-balancer", "ask the cloud's operator for Octavia, or leave out spec.managementCluster", "the cloud has no such service, but the Kubernetes API of the management cluster needs a load balancer")
	}
	r.nodeZones(m)
	r.nodeHosts(m)
}

// givenProvider takes the load balancer provider that the environment names, also from a cloud that
// does not list them; a load balancer that is there keeps its own then.
func (r *run) givenProvider(provider string) {
	known, kept := r.Snapshot.Known(cloud.LoadBalancer, cloud.ListProviders), r.keptProvider()
	if known && !slices.Contains(r.Snapshot.Providers, provider) {
		r.find(Error, "load balancer provider "+provider, "choose "+choices(r.Snapshot.Providers)+" in spec.managementCluster.apiServer.loadBalancerProvider", "the cloud has no provider with this name")
	}
	if known && kept != "" && kept != provider {
		r.find(Error, "load balancer provider "+provider, "set spec.managementCluster.apiServer.loadBalancerProvider to "+kept+", or leave it out", "the management cluster has a load balancer of provider %s, which stays", kept)
	}
	if known || kept == "" {
		r.result.Choices.LoadBalancerProvider = provider
	}
}

// balanced reports whether there is to be a management cluster whose API has a load balancer: the
// chart's values can take it away.
func balanced(m *config.ManagementCluster) bool {
	if m == nil {
		return false
	}
	on, said, _ := unstructured.NestedBool(m.Values, "apiServer", "enableLoadBalancer")
	return on || !said
}

// apiPorts is on how many ports the load balancer of the API listens, each with a listener, a pool,
// a health monitor and a member per machine of the control plane; none if there is no load balancer.
func apiPorts(m *config.ManagementCluster) int {
	if !balanced(m) {
		return 0
	}
	more, _, _ := unstructured.NestedFieldNoCopy(m.Values, "apiServer", "loadBalancer", "additionalPorts")
	ports, _ := more.([]any)
	return 1 + len(ports)
}

// nodeHosts warns of server groups that need more hosts than the cloud has: the last
// servers would find no host.
func (r *run) nodeHosts(m *config.ManagementCluster) {
	warn := func(what, of string, servers int) {
		if r.Snapshot.Hosts > 0 && servers > r.Snapshot.Hosts && serverGroupPolicy(m, of) == "anti-affinity" {
			r.find(Warning, what, "choose soft-anti-affinity in spec.managementCluster.values."+of+".serverGroup.policy, or fewer servers",
				"anti-affinity needs a separate host for each of %d servers, but the cloud offers only %d: Nova will find no valid host", servers, r.Snapshot.Hosts)
		}
	}
	warn("control plane", "controlPlane", m.ControlPlane.Count)
	for _, group := range m.NodeGroups {
		warn("node group "+group.Name, "nodeGroupDefaults", group.Count)
	}
}

// serverGroupPolicy is the policy of the server groups that the chart makes for a
// part of its values; empty if it makes none.
func serverGroupPolicy(m *config.ManagementCluster, of string) string {
	if id, _, _ := unstructured.NestedString(m.Values, of, "serverGroupId"); id != "" {
		return ""
	}
	word, _, _ := unstructured.NestedString(m.Values, of, "serverGroup", "policy")
	return word
}

// serverGroups counts the server groups that the chart makes.
func serverGroups(m *config.ManagementCluster) int {
	n := 0
	if serverGroupPolicy(m, "controlPlane") != "" {
		n++
	}
	if serverGroupPolicy(m, "nodeGroupDefaults") != "" {
		n += len(m.NodeGroups)
	}
	return n
}

// nodeFlavors finds the flavors of the control plane and of each node group.
func (r *run) nodeFlavors(m *config.ManagementCluster, chosen *ManagementChoices) {
	plane, ok := r.nodeFlavor("spec.managementCluster.controlPlane", m.ControlPlane.Flavor, r.controlPlanePrefix(), m.ControlPlane.RootVolume)
	if ok {
		chosen.ControlPlaneFlavor = plane.Name
		nodes := r.machinesOf(m.ControlPlane.Count, plane, m.ControlPlane.RootVolume, m.ControlPlane.EtcdVolume, r.controlPlanePrefix())
		nodes.group, nodes.members = controlPlane, apiPorts(m)
		r.nodes = append(r.nodes, nodes)
	}
	for i, group := range m.NodeGroups {
		wanted := group.Flavor
		if wanted == "" {
			wanted = chosen.ControlPlaneFlavor
		}
		if wanted == "" {
			continue // the control plane's finding says it
		}
		prefix := r.groupPrefix(group.Name)
		if f, ok := r.nodeFlavor(fmt.Sprintf("spec.managementCluster.nodeGroups[%d]", i), wanted, prefix, group.RootVolume); ok {
			chosen.NodeGroupFlavors[group.Name] = f.Name
			nodes := r.machinesOf(group.Count, f, group.RootVolume, nil, prefix)
			nodes.group = group.Name
			r.nodes = append(r.nodes, nodes)
		}
	}
}

// groupPrefix is the prefix of the names of a node group's servers.
func (r *run) groupPrefix(group string) string {
	return r.Environment.Metadata.Name + "-" + group + "-"
}

// serversOf are the servers whose names have a prefix of the control plane or of a group, and none
// of another group whose name begins with this one's, nor of another cluster: Cluster API adds one or
// two words to the prefix, and those of a cluster such as prod-gpu begin with the name of a group.
func (r *run) serversOf(prefix string) []cloud.ServerInfo {
	others := []string{r.controlPlanePrefix()}
	for _, group := range r.spec.ManagementCluster.NodeGroups {
		others = append(others, r.groupPrefix(group.Name))
	}
	return slices.DeleteFunc(slices.Clone(r.Snapshot.Servers), func(s cloud.ServerInfo) bool {
		words, of := strings.CutPrefix(s.Name, prefix)
		return !of || strings.Count(words, "-") > 1 || slices.ContainsFunc(others, func(other string) bool {
			return len(other) > len(prefix) && strings.HasPrefix(s.Name, other)
		})
	})
}

// controlPlanePrefix is the prefix of the names of the control plane's servers.
func (r *run) controlPlanePrefix() string {
	return r.Environment.Metadata.Name + "-control-plane-"
}

// nodeFlavor takes the named flavor, else the one that such nodes already have, else
// the large enough one with the least memory.
func (r *run) nodeFlavor(key, wanted, prefix string, root *config.RootVolume) (cloud.FlavorInfo, bool) {
	fits := func(f cloud.FlavorInfo) bool {
		return f.VCPUs >= minNodeVCPUs && f.RAM >= minNodeRAM && (root != nil || f.Disk >= minDisk)
	}
	if wanted != "" {
		f, ok := pick(r, "flavor", wanted, r.Snapshot.Flavors, func(f cloud.FlavorInfo) (string, string) { return f.ID, f.Name })
		if ok && !fits(f) {
			r.find(Error, "flavor "+f.Name, "choose a larger one in "+key+".flavor", "it is too small for a node: it has %d vCPUs, %d MiB of memory and %d GB of disk; a node needs at least %d, %d and %d",
				f.VCPUs, f.RAM, f.Disk, minNodeVCPUs, minNodeRAM, minDisk)
		}
		return f, ok
	}
	for _, server := range r.serversOf(prefix) {
		if i := slices.IndexFunc(r.Snapshot.Flavors, func(f cloud.FlavorInfo) bool { return f.Name == server.Flavor }); i >= 0 {
			return r.Snapshot.Flavors[i], true
		}
	}
	for _, f := range r.Snapshot.Flavors { // sorted by memory
		if fits(f) {
			r.find(Info, "flavor "+f.Name, "", "chosen for %s: it has the least memory of the flavors that are large enough (%d vCPUs, %d MiB of memory, %d GB of disk)", key, f.VCPUs, f.RAM, f.Disk)
			return f, true
		}
	}
	r.find(Error, key+".flavor", "ask the cloud's operator for a larger flavor, or set "+key+".rootVolume if only the disk is too small", "none of %d flavors has %d vCPUs, %d MiB of memory and %d GB of disk",
		len(r.Snapshot.Flavors), minNodeVCPUs, minNodeRAM, minDisk)
	return cloud.FlavorInfo{}, false
}

// machinesOf are the nodes of a group that do not exist yet, and the additional one
// that exists while they are replaced.
func (r *run) machinesOf(count int, f cloud.FlavorInfo, root *config.RootVolume, etcd *config.EtcdVolume, prefix string) machines {
	m := machines{count: max(0, count-len(r.serversOf(prefix))), surge: 1, flavor: f, ports: 1}
	if count == 0 {
		m.surge = 0
	}
	if root != nil {
		m.volumes = append(m.volumes, r.disk(root.SizeGiB, root.Type))
	}
	if etcd != nil {
		m.volumes = append(m.volumes, r.disk(etcd.SizeGiB, etcd.Type))
	}
	return m
}

func (r *run) nodeZones(m *config.ManagementCluster) {
	known := r.Snapshot.Zones[cloud.ComputeZones]
	wanted := map[string][]string{"spec.managementCluster.controlPlane.availabilityZones": m.ControlPlane.AvailabilityZones}
	for i, group := range m.NodeGroups {
		if group.AvailabilityZone != "" {
			wanted[fmt.Sprintf("spec.managementCluster.nodeGroups[%d].availabilityZone", i)] = []string{group.AvailabilityZone}
		}
	}
	for key, zones := range wanted {
		for _, zone := range zones {
			if len(known) > 0 && !slices.Contains(known, zone) {
				r.find(Error, "availability zone "+zone, "choose "+choices(known)+" in "+key, "there is no availability zone with this name")
			}
		}
	}
}

// clusterExists reports whether the management cluster's API has its load balancer, which is
// the first that Cluster API creates for it.
func (r *run) clusterExists() bool { return r.balancer() != nil }

// balancer is that load balancer; nil if it is not there yet.
func (r *run) balancer() *cloud.BalancerInfo {
	i := slices.IndexFunc(r.Snapshot.Balancers, func(t cloud.BalancerInfo) bool {
		return t.Name == "k8s-clusterapi-cluster-default-"+r.Environment.Metadata.Name+"-kubeapi"
	})
	if i < 0 {
		return nil
	}
	return &r.Snapshot.Balancers[i]
}

// clusterNeeds adds what Cluster API creates for the management cluster: its
// servers and server groups, the API's load balancer with its address, and the nodes' security groups
// with about as many rules as Cluster API's provider creates.
func (r *run) clusterNeeds(needs map[resource]int) {
	m := r.spec.ManagementCluster
	if m == nil {
		return
	}
	for _, nodes := range r.nodes {
		nodes.add(needs)
	}
	if r.clusterExists() {
		return
	}
	needs[resource{cloud.Compute, "server_groups"}] += serverGroups(m)
	needs[resource{cloud.LoadBalancer, "load_balancers"}]++
	for _, part := range []string{"listeners", "pools", "health_monitors"} {
		needs[resource{cloud.LoadBalancer, part}] += apiPorts(m)
	}
	needs[resource{cloud.Network, "ports"}]++
	if m.APIServer.FloatingIP {
		needs[resource{cloud.Network, "floating_ips"}]++
	}
	const groups, rules = 2, 30
	needs[resource{cloud.Network, "security_groups"}] += groups
	needs[resource{cloud.Network, "security_group_rules"}] += rules
	r.monitoringNeeds(needs)
}
