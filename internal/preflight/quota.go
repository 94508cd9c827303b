package preflight

import (
	"cmp"
	"strconv"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// Need is how much of one quota the environment needs in addition to what it
// uses. Sizes are in the service's units: ram in MiB, gigabytes in GiB.
type Need struct {
	Service  cloud.Service `json:"service"`
	Resource string        `json:"resource"`
	Need     int           `json:"need"`
	Used     int           `json:"used"`
	// Limit is -1 for unlimited.
	Limit int `json:"limit"`
	// Surge of them are needed only while machines are replaced: one more of each group.
	Surge int `json:"surge,omitempty"`
	// Short is how much is missing.
	Short int `json:"short"`
}

// resource is a quota, by service and name.
type resource struct {
	service cloud.Service
	name    string
}

// machines are identical servers; surge more exist while they are replaced one
// after the other.
type machines struct {
	count, surge int
	flavor       cloud.FlavorInfo
	ports        int
	// volumes are those of each machine.
	volumes []disk
	// members are how many members of load balancers each machine is.
	members int
	// group is the control plane or node group that they are of.
	group string
}

// disk is a volume to create: its size in GiB, and its type by name, also where that is the
// cloud's default; empty if it is not known.
type disk struct {
	gib  int
	kind string
}

func (r *run) disk(gib int, kind string) disk {
	return disk{gib, cmp.Or(kind, r.Snapshot.DefaultVolumeType)}
}

// add adds so many volumes, which Cinder counts in all and by their type.
func (d disk) add(needs map[resource]int, count int) {
	needs[resource{cloud.Volume, "volumes"}] += count
	needs[resource{cloud.Volume, "gigabytes"}] += count * d.gib
	if d.kind != "" {
		needs[resource{cloud.Volume, "volumes_" + d.kind}] += count
		needs[resource{cloud.Volume, "gigabytes_" + d.kind}] += count * d.gib
	}
}

// add adds the most that the machines need, which is during upgrades.
func (m machines) add(needs map[resource]int) {
	most := m.count + m.surge
	needs[resource{cloud.Compute, "instances"}] += most
	needs[resource{cloud.Compute, "cores"}] += most * m.flavor.VCPUs
	needs[resource{cloud.Compute, "ram"}] += most * m.flavor.RAM
	needs[resource{cloud.Network, "ports"}] += most * m.ports
	if m.members > 0 {
		needs[resource{cloud.LoadBalancer, "members"}] += most * m.members
	}
	for _, volume := range m.volumes {
		volume.add(needs, most)
	}
}

// needs is what the environment will use, without what exists already. The seed
// has no surge: its data volume can be attached to one server only, so the old
// server is deleted before the new one is created.
func (r *run) needs() map[resource]int {
	needs := map[resource]int{}
	if !r.seed.IsLocal() {
		r.serverNeeds(needs)
	}
	if !r.exists("security group") {
		needs[resource{cloud.Network, "security_groups"}]++
		needs[resource{cloud.Network, "security_group_rules"}] += r.rules()
	}
	if r.seed.SSH.KeyPair == "" && !r.begun() {
		needs[resource{cloud.Compute, "key_pairs"}]++
	}
	r.networkNeeds(needs)
	r.clusterNeeds(needs)
	return needs
}

// surge is what of the needs is there only while machines are replaced one after the other.
func (r *run) surge() map[resource]int {
	all := map[resource]int{}
	for _, nodes := range r.nodes {
		nodes.count = 0
		nodes.add(all)
	}
	return all
}

// meanwhile says how much of a need is the surge.
func (n Need) meanwhile() string {
	switch n.Surge {
	case 0:
		return ""
	case n.Need:
		return " while machines are replaced one after the other"
	}
	return " (" + strconv.Itoa(n.Surge) + " of them only while machines are replaced one after the other)"
}

// serverNeeds adds the seed's server with all that goes with it.
func (r *run) serverNeeds(needs map[resource]int) {
	if !r.exists("server") {
		seed := machines{count: 1, ports: 1}
		if r.seed.ProvisioningNetwork != "" {
			seed.ports = 2
		}
		if r.flavor != nil {
			seed.flavor = *r.flavor
		}
		if root := r.seed.RootVolume; root != nil {
			seed.volumes = append(seed.volumes, r.disk(root.SizeGiB, root.Type))
		}
		seed.add(needs)
	}
	if !r.exists("volume") {
		r.disk(r.seed.DataVolume.SizeGiB, r.seed.DataVolume.Type).add(needs, 1)
	}
	if r.seed.WantsFloatingIP() && !r.seed.FloatingIP.Address.IsValid() && !r.exists("floating IP") {
		needs[resource{cloud.Network, "floating_ips"}]++
	}
}

// monitoringNeeds adds the volumes of a new cluster's monitoring. What a storage class of yours
// makes of them is not known: they count in all, but as no type.
func (r *run) monitoringNeeds(needs map[resource]int) {
	m := r.spec.Monitoring
	if m == nil {
		return
	}
	sizes := []int{m.Prometheus.VolumeGiB, m.Alertmanager.VolumeGiB}
	if m.Logs.Enabled {
		sizes = append(sizes, m.Logs.VolumeGiB)
	}
	for _, gib := range sizes {
		volume := r.disk(gib, "")
		if m.StorageClass != "" {
			volume.kind = ""
		}
		volume.add(needs, 1)
	}
}

// networkNeeds adds network, subnet and router, with the ports of the router and
// of DHCP or metadata.
func (r *run) networkNeeds(needs map[resource]int) {
	if !r.seed.MakesNetwork() {
		return
	}
	for kind, name := range map[string]string{"network": "networks", "subnet": "subnets", "router": "routers"} {
		if !r.exists(kind) {
			needs[resource{cloud.Network, name}]++
		}
	}
	for _, kind := range []string{"router", "subnet"} {
		if !r.exists(kind) {
			needs[resource{cloud.Network, "ports"}]++
		}
	}
}

// rules counts the rules of the seed's security group, including Neutron's two for
// egress.
func (r *run) rules() int {
	if r.seed.IsLocal() {
		return 2 // egress, which the cloud adds: the group only has the generation of the fence
	}
	n := 2 + len(r.seed.Access.SSHCIDRs) + len(r.seed.Access.APICIDRs)
	for _, rule := range r.seed.Access.Rules {
		n += len(rule.CIDRs)
	}
	return n
}

// checkQuota compares what is needed with what is free (S-33).
func checkQuota(r *run) {
	needs, surge := r.needs(), r.surge()
	for _, q := range r.Snapshot.Quotas {
		need := Need{Service: q.Service, Resource: q.Resource, Need: needs[resource{q.Service, q.Resource}], Surge: surge[resource{q.Service, q.Resource}], Used: q.Used, Limit: q.Limit}
		if q.Limit >= 0 && need.Need > 0 {
			need.Short = max(0, need.Need+q.Used-q.Limit)
		}
		if q.Resource != "key_pairs" { // Nova does not say how many there are
			r.result.Capacity.Quotas = append(r.result.Capacity.Quotas, need)
		}
		if need.Need == 0 {
			continue
		}
		r.result.Quota = append(r.result.Quota, need)
		if need.Short > 0 {
			level := Error
			if need.Short <= need.Surge && r.clusterExists() {
				// Who only looks for it can go on: `up` refuses if it replaces machines now.
				level = Warning
			}
			r.find(level, "quota "+q.Resource+" of "+string(q.Service), "delete what you do not need, or ask the cloud's operator for "+strconv.Itoa(need.Short)+" more",
				"it needs %d%s, but only %d of %d are free", need.Need, need.meanwhile(), max(0, q.Limit-q.Used), q.Limit)
		}
	}
	r.result.Capacity.Room = r.rooms(r.result.Capacity.Quotas)
}
