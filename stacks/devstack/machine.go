package devstack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Machine is what a host has. Memory and Disk are bytes; Disk is what is free.
type Machine struct {
	Memory, Disk uint64
	KVM          bool
}

// What a host needs for devstack, a management cluster and one cluster of two machines, in
// bytes (row D-22).
const (
	gigabyte   = 1_000_000_000
	NeedMemory = 16 * gigabyte
	NeedDisk   = 60 * gigabyte
)

// Judge reports all that a host lacks.
func (m Machine) Judge() error {
	const remedy = "use a larger host, or set SLIPWAY_SMALL_MACHINE=True in local.conf to continue: clusters may then be slow, or never become ready"
	var lacks []error
	lack := func(object, format string, args ...any) {
		lacks = append(lacks, &fault.Fault{Exit: fault.ExitPreflight, Object: object, Err: fmt.Errorf(format, args...), Remedy: remedy})
	}
	if m.Memory < NeedMemory {
		lack("memory", "the host has %d GB; devstack with one cluster needs %d GB", m.Memory/gigabyte, NeedMemory/gigabyte)
	}
	if m.Disk < NeedDisk {
		lack("disk", "%d GB are free; devstack with one cluster needs %d GB", m.Disk/gigabyte, NeedDisk/gigabyte)
	}
	if !m.KVM {
		lack("/dev/kvm", "the host has no KVM; machines of clusters are then emulated, ten times slower")
	}
	return errors.Join(lacks...)
}

// ReadMemory reads the memory of a host, in bytes, from the text of /proc/meminfo.
func ReadMemory(text io.Reader) (uint64, error) {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kib, err := strconv.ParseUint(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.Join(errors.New("/proc/meminfo has no MemTotal"), lines.Err())
}
