package placement

import (
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// The resource classes of servers.
const (
	vcpu = "VCPU"
	ram  = "MEMORY_MB"
	disk = "DISK_GB"
)

// cpuRatio is how often Nova gives a CPU away by default.
const cpuRatio = 4

// providers are all providers: compute hosts first, then those made by hand.
func (s *service) providers(r store.Reader) []model.ResourceProvider {
	var all []model.ResourceProvider
	hosts := map[string]bool{}
	for h := range s.model.Compute.Hosts.All(r) {
		hosts[h.ID] = true
		all = append(all, s.hostProvider(r, h))
	}
	for p := range s.model.Placement.Providers.All(r) {
		if !hosts[p.ID] {
			all = append(all, p)
		}
	}
	return all
}

// hostProvider is a compute host with what it has.
func (s *service) hostProvider(r store.Reader, h model.ComputeHost) model.ResourceProvider {
	p, ok := s.model.Placement.Providers.Get(r, h.ID)
	if !ok {
		p = model.ResourceProvider{ID: h.ID, RootID: h.ID, Generation: 1}
	}
	p.Name = h.Name
	p.Inventories = map[string]model.Inventory{
		vcpu: inventory(h.VCPUs, cpuRatio), ram: inventory(h.RAM, 1), disk: inventory(h.Disk, 1),
	}
	p.Traits = slices.Clone(p.Traits)
	for _, name := range []string{"COMPUTE_NODE", "COMPUTE_TRUSTED_CERTS", "HW_CPU_X86_SSE2", "COMPUTE_VOLUME_MULTI_ATTACH"} {
		if !slices.Contains(p.Traits, name) {
			p.Traits = append(p.Traits, name)
		}
	}
	return p
}

func inventory(total int, ratio float64) model.Inventory {
	return model.Inventory{Total: total, MinUnit: 1, MaxUnit: total, StepSize: 1, Ratio: ratio}
}

// resources is what a server takes from its host.
func resources(v model.Server) map[string]int {
	used := map[string]int{vcpu: v.Flavor.VCPUs, ram: v.Flavor.RAM}
	size := v.Flavor.Ephemeral + v.Flavor.Swap/1024
	if v.ImageID != "" {
		size += v.Flavor.Disk // the disk of one that boots from a volume is Cinder's
	}
	if size > 0 {
		used[disk] = size
	}
	return used
}

// consumers are the servers on a provider, if it is a compute host.
func (s *service) consumers(r store.Reader, providerID string) []model.Server {
	for h := range s.model.Compute.Hosts.All(r) {
		if h.ID == providerID {
			return slices.Collect(s.model.Compute.ServersOn.Each(r, h.Name))
		}
	}
	return nil
}

// usages is what is used of each class that a provider has.
func (s *service) usages(r store.Reader, p model.ResourceProvider) map[string]int {
	used := map[string]int{}
	for class := range p.Inventories {
		used[class] = 0
	}
	for _, v := range s.consumers(r, p.ID) {
		for class, n := range resources(v) {
			used[class] += n
		}
	}
	return used
}

// classes are the standard resource classes that clouds have.
func classes() []string {
	return []string{vcpu, ram, disk, "PCI_DEVICE", "SRIOV_NET_VF", "NUMA_SOCKET", "NUMA_CORE", "NUMA_THREAD", "NUMA_MEMORY_MB",
		"IPV4_ADDRESS", "VGPU", "VGPU_DISPLAY_HEAD", "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC", "PCPU",
		"MEM_ENCRYPTION_CONTEXT", "FPGA"}
}

// validClass reports whether a name is a standard class or a custom one.
func validClass(name string) bool {
	return slices.Contains(classes(), name) || strings.HasPrefix(name, "CUSTOM_")
}
