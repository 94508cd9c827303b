package compute

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// hostCount is the number of hosts: enough for five servers with anti-affinity, and one more for
// maintenance.
const hostCount = 6

// The size of a host, large enough for the thousands of servers that the driver without machines
// must run.
const (
	hostVCPUs = 2048
	hostRAM   = 16 << 20
	hostDisk  = 512 << 10
)

// cpuRatio is Nova's default of how often a CPU is allocated.
const cpuRatio = 4

// defaultQuota is what Nova allows a project by default.
func defaultQuota() map[string]int {
	return map[string]int{
		"instances": 10, "cores": 20, "ram": 51200, "metadata_items": 128, "injected_files": 5,
		"injected_file_content_bytes": 10240, "injected_file_path_bytes": 255, "key_pairs": 100,
		"server_groups": 10, "server_group_members": 10,
	}
}

func (s *service) seed(tx *store.Tx) error {
	if s.model.Flavors.Len(tx) == 0 {
		s.seedFlavors(tx)
	}
	if s.model.Hosts.Len(tx) > 0 {
		return nil
	}
	for n := 1; n <= hostCount; n++ {
		name := fmt.Sprintf("compute-%d", n)
		s.model.Hosts.Put(tx, model.ComputeHost{Name: name, Number: n, VCPUs: hostVCPUs, RAM: hostRAM, Disk: hostDisk,
			ID: hostID("node", name), ServiceID: hostID("service", name), StartedAt: s.env.Timing.Now()})
	}
	return nil
}

// hostID returns an id that stays the same when the cloud is created again.
func hostID(kind, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(kind+"."+name+".sandbox")).String()
}

// seedFlavors adds Nova's classic flavors and larger ones. m1.medium is the
// smallest that kubeadm accepts for a control plane: two CPUs, 4 GiB.
func (s *service) seedFlavors(tx *store.Tx) {
	for i, f := range []model.Flavor{
		{Name: "m1.tiny", VCPUs: 1, RAM: 512, Disk: 1},
		{Name: "m1.small", VCPUs: 1, RAM: 2048, Disk: 20},
		{Name: "m1.medium", VCPUs: 2, RAM: 4096, Disk: 40},
		{Name: "m1.large", VCPUs: 4, RAM: 8192, Disk: 80},
		{Name: "m1.xlarge", VCPUs: 8, RAM: 16384, Disk: 160},
		{Name: "m1.2xlarge", VCPUs: 16, RAM: 32768, Disk: 320},
		{Name: "m1.4xlarge", VCPUs: 32, RAM: 65536, Disk: 640},
		{Name: "c1.small", VCPUs: 2, RAM: 2048, Disk: 20},
		{Name: "c1.medium", VCPUs: 4, RAM: 4096, Disk: 40},
		// A disk of 0 is that of the image, or a volume.
		{Name: "v1.medium", VCPUs: 2, RAM: 4096},
		{Name: "v1.large", VCPUs: 4, RAM: 8192},
	} {
		f.ID, f.Public, f.RxTxFactor, f.ExtraSpecs = strconv.Itoa(i+1), true, 1, map[string]string{}
		s.model.Flavors.Put(tx, f)
	}
}
