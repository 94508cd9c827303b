package model

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

// The states of Nova's state machine: what a server is. What is being done to
// it is its task state; both together give the status that clients see.
const (
	ServerBuilding  = "building"
	ServerActive    = "active"
	ServerStopped   = "stopped"
	ServerPaused    = "paused"
	ServerSuspended = "suspended"
	ServerRescued   = "rescued"
	ServerResized   = "resized"
	ServerShelved   = "shelved"
	ServerOffloaded = "shelved_offloaded"
	ServerError     = "error"
)

// Server is an instance of Nova.
type Server struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Hostname    string    `json:"hostname"`
	Description *string   `json:"description"`
	ProjectID   string    `json:"project_id"`
	UserID      string    `json:"user_id"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	// LaunchedAt is when the server first ran.
	LaunchedAt *time.Time `json:"launched_at"`

	VMState    string `json:"vm_state"`
	TaskState  string `json:"task_state"`
	PowerState int    `json:"power_state"`
	// Pending is when the task continues; To is the task.
	Pending *transition.Pending `json:"pending,omitempty"`
	// ActionID is the instance action that the task belongs to.
	ActionID string       `json:"action_id,omitempty"`
	Fault    *ServerFault `json:"fault,omitempty"`

	Host string `json:"host"`
	// Zone is where the server is, PinnedZone what its creator asked for.
	Zone       string `json:"availability_zone"`
	PinnedZone string `json:"pinned_availability_zone"`
	// ForcedHost is the host that an administrator asked for.
	ForcedHost string              `json:"forced_host,omitempty"`
	GroupID    string              `json:"group_id,omitempty"`
	Hints      map[string][]string `json:"hints,omitempty"`

	Flavor Flavor `json:"flavor"`
	// Before is the state before a resize or migration, live or not, while that lasts.
	Before *ServerBefore `json:"before,omitempty"`
	// ImageID is empty when the server boots from a volume.
	ImageID     string `json:"image_id"`
	RescueImage string `json:"rescue_image,omitempty"`
	KeyName     string `json:"key_name"`

	ConfigDrive  bool              `json:"config_drive"`
	Metadata     map[string]string `json:"metadata"`
	Tags         []string          `json:"tags"`
	DiskConfig   string            `json:"disk_config"`
	AccessIPv4   string            `json:"access_ip_v4"`
	AccessIPv6   string            `json:"access_ip_v6"`
	Locked       bool              `json:"locked"`
	LockedBy     string            `json:"locked_by,omitempty"`
	LockedReason *string           `json:"locked_reason"`

	ReservationID string `json:"reservation_id"`
	LaunchIndex   int    `json:"launch_index"`

	// Networks is what was asked for and is not allocated yet.
	Networks       []ServerNetwork `json:"networks,omitempty"`
	SecurityGroups []string        `json:"security_groups,omitempty"`
	Ports          []ServerPort    `json:"ports,omitempty"`
	Disks          []ServerDisk    `json:"disks,omitempty"`
	// SnapshotID is the image that is being made of the server.
	SnapshotID string `json:"snapshot_id,omitempty"`
	// Trouble are the machine faults that were injected into it.
	Trouble []string `json:"trouble,omitempty"`
}

// ServerBefore is what a server goes back to, and what a resize leaves.
type ServerBefore struct {
	VMState string  `json:"vm_state"`
	Host    string  `json:"host"`
	Flavor  *Flavor `json:"flavor,omitempty"`
	// Target is where a resize or migration goes.
	Target  string  `json:"target,omitempty"`
	Resized *Flavor `json:"resized,omitempty"`
}

// ServerFault is why a server is in error.
type ServerFault struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Details string    `json:"details"`
	Created time.Time `json:"created"`
}

// ServerNetwork is a network card that was asked for.
type ServerNetwork struct {
	NetworkID string `json:"network_id,omitempty"`
	PortID    string `json:"port_id,omitempty"`
	FixedIP   string `json:"fixed_ip,omitempty"`
	Tag       string `json:"tag,omitempty"`
}

// ServerPort is a network card that a server has. Made says that Nova made
// the port, and deletes it with the server.
type ServerPort struct {
	PortID string `json:"port_id"`
	Made   bool   `json:"made"`
	Tag    string `json:"tag,omitempty"`
	// Plugged says that the machine has the card, Addresses with which addresses; empty
	// is not known.
	Plugged   bool   `json:"plugged"`
	Addresses string `json:"addresses,omitempty"`
	// Leaving says that the card is to be taken out.
	Leaving bool `json:"leaving,omitempty"`
}

// ServerDisk is a block device of a server. Source is image, volume, snapshot
// or blank; Local is a disk of the host instead of a volume.
type ServerDisk struct {
	Source   string `json:"source"`
	SourceID string `json:"source_id,omitempty"`
	Local    bool   `json:"local,omitempty"`
	VolumeID string `json:"volume_id,omitempty"`
	// BootIndex is 0 for the disk that is booted from, -1 for none.
	BootIndex  int    `json:"boot_index"`
	SizeGiB    int    `json:"size_gib"`
	VolumeType string `json:"volume_type,omitempty"`
	// Delete says that the volume is deleted with the server.
	Delete bool   `json:"delete_on_termination"`
	Device string `json:"device"`
	Tag    string `json:"tag,omitempty"`
	// AttachmentID is Cinder's, ID Nova's name of the block device.
	AttachmentID string `json:"attachment_id,omitempty"`
	ID           string `json:"id"`
	// Plugged says that the machine has the disk.
	Plugged bool `json:"plugged"`
	// Leaving says that the disk is to be taken out.
	Leaving bool `json:"leaving,omitempty"`
}

// ServerPayload is what only the machine is told; it is apart from the server
// because it is large and secret.
type ServerPayload struct {
	ServerID string            `json:"server_id"`
	UserData []byte            `json:"user_data,omitempty"`
	Files    map[string][]byte `json:"files,omitempty"`
	Password string            `json:"password,omitempty"`
	// KeyType and PublicKey are of the key pair at the time of creation.
	KeyType   string `json:"key_type,omitempty"`
	PublicKey string `json:"public_key,omitempty"`
}

// ServerAction is one thing that was done to a server.
type ServerAction struct {
	// ID is the server's id and the request's.
	ID        string              `json:"id"`
	RequestID string              `json:"request_id"`
	ServerID  string              `json:"instance_uuid"`
	Action    string              `json:"action"`
	ProjectID string              `json:"project_id"`
	UserID    string              `json:"user_id"`
	Message   string              `json:"message"`
	StartTime time.Time           `json:"start_time"`
	UpdatedAt time.Time           `json:"updated_at"`
	Events    []ServerActionEvent `json:"events"`
}

// ServerActionEvent is one step of an action.
type ServerActionEvent struct {
	Event      string     `json:"event"`
	StartTime  time.Time  `json:"start_time"`
	FinishTime *time.Time `json:"finish_time"`
	Result     string     `json:"result"`
	Details    string     `json:"details,omitempty"`
	Host       string     `json:"host,omitempty"`
}

// Flavor is a size of servers; RAM and Swap are in MiB, disks in GiB.
type Flavor struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	VCPUs       int               `json:"vcpus"`
	RAM         int               `json:"ram"`
	Disk        int               `json:"disk"`
	Ephemeral   int               `json:"ephemeral"`
	Swap        int               `json:"swap"`
	RxTxFactor  float64           `json:"rxtx_factor"`
	Public      bool              `json:"is_public"`
	Description *string           `json:"description"`
	ExtraSpecs  map[string]string `json:"extra_specs"`
	// Projects may use a flavor that is not public.
	Projects []string `json:"projects,omitempty"`
}
