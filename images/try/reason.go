package try

// Milestone is a place on the way of a machine that boots.
type Milestone string

// The milestones, in the order in which machines reach them.
const (
	FirmwareStarted   Milestone = "firmware"
	BootLoaderStarted Milestone = "boot loader"
	KernelStarted     Milestone = "kernel"
	InitStarted       Milestone = "init"
	NetworkUp         Milestone = "network"
	SSHAnswers        Milestone = "SSH"
	CloudInitDone     Milestone = "cloud-init done"
)

// Milestones lists all of them in order.
func Milestones() []Milestone {
	return []Milestone{FirmwareStarted, BootLoaderStarted, KernelStarted, InitStarted, NetworkUp, SSHAnswers, CloudInitDone}
}

// Reason names why a boot is not as it should be. The names are part of the
// interface: they are listed in docs/guides/try-an-image.md.
type Reason string

// The reasons.
const (
	NoBootLoader      Reason = "no boot loader"
	WrongArchitecture Reason = "wrong architecture"
	LoaderStopped     Reason = "boot loader stopped"
	NoRoot            Reason = "no root file system"
	KernelPanic       Reason = "kernel panic"
	EmergencyMode     Reason = "emergency mode"
	Restarted         Reason = "restarted"
	NoSerialConsole   Reason = "no serial console"
	NoDataSource      Reason = "cloud-init without data source"
	NoCloudInit       Reason = "no cloud-init"
	NoUserData        Reason = "user data not run"
	NoSSH             Reason = "no SSH"
	RootNotGrown      Reason = "root did not grow"
	IncompleteNode    Reason = "incomplete node"
	DeviceHung        Reason = "device hung"
	TimedOut          Reason = "timed out"
	EmulatorFailed    Reason = "QEMU ended"
)

// Reasons lists all of them.
func Reasons() []Reason {
	return []Reason{NoBootLoader, WrongArchitecture, LoaderStopped, NoRoot, KernelPanic, EmergencyMode, Restarted, NoSerialConsole, NoDataSource,
		NoCloudInit, NoUserData, NoSSH, RootNotGrown, IncompleteNode, DeviceHung, TimedOut, EmulatorFailed}
}

// remedies say what to do about each.
func remedy(r Reason) string {
	return map[Reason]string{
		NoBootLoader:      "install a boot loader for this firmware (for UEFI at /EFI/BOOT/BOOTX64.EFI), or set the image property hw_firmware_type to the firmware that it boots by",
		WrongArchitecture: "use the build of the image for x86_64",
		LoaderStopped:     "build the image again: the boot loader does not find its files or the kernel",
		NoRoot:            "let kernel command line and root file system agree on label or UUID, and put the drivers virtio_blk and virtio_pci into the initramfs",
		KernelPanic:       "read the lines before the panic (-o json); a kernel or an initramfs for other hardware is the usual cause",
		EmergencyMode:     "remove what /etc/fstab and the units name, but the machine does not have",
		Restarted:         "read the end of the console (-o json); an image that must restart at its first boot is not supported",
		NoSerialConsole:   "add console=ttyS0,115200 to the kernel command line: without it the cloud keeps no console log",
		NoDataSource:      "let datasource_list in /etc/cloud/cloud.cfg.d have ConfigDrive and OpenStack",
		NoCloudInit:       "install cloud-init and enable its units",
		NoUserData:        "let cloud_final_modules in /etc/cloud/cloud.cfg have scripts-user: nodes are set up by user data",
		NoSSH:             "install an SSH server, let it start at boot, and open its port in the image's firewall",
		RootNotGrown:      "install growpart (cloud-guest-utils or cloud-utils-growpart), make the root the last partition, and leave growpart and resizefs in cloud_init_modules",
		IncompleteNode:    "build the image with kubeadm and kubelet of one version and containerd, as image-builder does",
		DeviceHung:        "read the kernel's report (-o json); by emulation run the same command once more, else check the storage of this machine",
		TimedOut:          "read the end of the console (-o json); if the machine was only slow, use a longer --timeout",
		EmulatorFailed:    "fix what QEMU says, or choose another --accelerator",
	}[r]
}
