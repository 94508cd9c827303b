// Package machine is what stands behind the model: the interfaces of the
// programs that make servers, networks, volumes and load balancers real.
// Reconcilers call them; API handlers never do. Every method makes what it is
// given so and is safe to repeat, because a reconciler calls it again after
// an error or a restart.
package machine

import (
	"context"
	"net/netip"
	"slices"
)

// Host is one driver's set. Close releases what the process holds; machines
// keep running unless the driver cannot keep them.
type Host interface {
	// Name is the value of --driver.
	Name() string
	Machines() Machines
	Fabric() Fabric
	Volumes() Volumes
	Balancers() Balancers
	Close() error
}

// State is what a machine is doing.
type State string

// The states of a machine. Gone is a machine that does not exist.
const (
	Running State = "running"
	Stopped State = "stopped"
	Gone    State = "gone"
)

// Machines runs servers. An id is the server's.
type Machines interface {
	// Create makes the machine and starts it; it returns when it runs.
	Create(ctx context.Context, spec Spec) error
	Start(ctx context.Context, id string) error
	Stop(ctx context.Context, id string) error
	// Reboot restarts the machine; hard pulls the plug.
	Reboot(ctx context.Context, id string, hard bool) error
	// Delete removes the machine and its own disk.
	Delete(ctx context.Context, id string) error
	State(ctx context.Context, id string) (State, error)
	// List returns the ids of all machines of this driver, to find those that
	// the model does not know.
	List(ctx context.Context) ([]string, error)
	// Console returns the last lines of the console, all when lines is 0.
	Console(ctx context.Context, id string, lines int) (string, error)
	// AttachVolume returns the device path inside the machine ("/dev/vdb").
	AttachVolume(ctx context.Context, id string, volumeID string) (device string, err error)
	DetachVolume(ctx context.Context, id, volumeID string) error
	AttachPort(ctx context.Context, id string, port Port) error
	DetachPort(ctx context.Context, id, portID string) error
}

// Spec is a machine to be.
type Spec struct {
	ID, Name, ProjectID string
	VCPUs               int
	MemoryMiB, DiskGiB  int
	// Image is the path of the image file; empty when the machine boots from
	// the first of Volumes.
	Image string
	// Volumes are the ids of the volumes that are attached from the start.
	Volumes []string
	// Local are empty disks of the machine's own, which go with it.
	Local []LocalDisk
	Ports []Port
	// Metadata returns what the metadata service and the config drive serve.
	Metadata    Metadata
	ConfigDrive bool
	// Driver is the one that the flavor or the image asks for; empty is the
	// sandbox's own.
	Driver string
	// UEFI is the firmware instead of a BIOS, where there is firmware.
	UEFI bool
	// Trouble is what fault rules want of this machine: names of
	// faultinject's machine kinds.
	Trouble []string
}

// HasPort reports whether the machine is to have a card of the port.
func (s Spec) HasPort(id string) bool {
	return slices.ContainsFunc(s.Ports, func(p Port) bool { return p.ID == id })
}

// LocalDisk is an empty disk without a volume. Only its place on the bus tells
// it from others.
type LocalDisk struct {
	GiB int
	// Address is that on the PCI bus, "0000:00:10.0".
	Address string
}

// Device is a disk that the user gave a tag, as its metadata describe it: by the
// serial number, which is the volume's id, or by its address on the PCI bus.
type Device struct {
	Serial, Address string
	Tag             string
}

// Metadata is what a machine is told about itself.
type Metadata struct {
	UserData         []byte
	Hostname         string
	AvailabilityZone string
	PublicKeys       map[string]string
	Values           map[string]string
	// Files are to be in the machine's file system, by path.
	Files map[string][]byte
	// Password is that of the administrator, for guests that ask for one.
	Password string
	// Devices are the disks that have tags.
	Devices []Device
}

// Port is a network card.
type Port struct {
	ID, NetworkID, MAC string
	Addresses          []Address
	MTU                int
}

// Address is one address of a card, with what the subnet says.
type Address struct {
	Prefix      netip.Prefix
	Gateway     netip.Addr
	DHCP        bool
	Nameservers []netip.Addr
	Routes      []Route
}

// Route is a static route.
type Route struct {
	Destination netip.Prefix
	Via         netip.Addr
}
