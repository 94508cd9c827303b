package manifest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The properties that Slipway itself reads.
const (
	// PropertyDistro is mandatory for Magnum: it chooses the driver.
	PropertyDistro = "os_distro"
	// PropertyKubeVersion is what magnum-capi-helm reads the version from, PropertyKubernetesVersion what SCS's tools do.
	PropertyKubeVersion       = "kube_version"
	PropertyKubernetesVersion = "kubernetes_version"
	// PropertyArchitecture is the processor's, as Nova calls it.
	PropertyArchitecture = "architecture"
)

// GlanceProperties are the properties that the image shall have in Glance:
// what follows from its fields, with its own on top. Both Magnum drivers and
// the SCS image metadata standard (scs-0102) are served.
func (i Image) GlanceProperties() map[string]string {
	p := map[string]string{PropertyDistro: i.OS.Distro, "os_version": i.OS.Version, "os_type": i.OS.Type, "os_admin_user": i.OS.AdminUser,
		PropertyArchitecture: i.Architecture, "image_original_user": i.OS.AdminUser, "image_build_date": i.BuildDate, "image_source": i.URL}
	if v := i.KubernetesVersion; v != "" {
		p[PropertyKubeVersion], p[PropertyKubernetesVersion] = WithV(v), WithV(v)
		p["replace_frequency"] = "never" // another version of Kubernetes is another image
		if i.BuildDate != "" {
			p["provided_until"], p["uuid_validity"] = yearAfter(i.BuildDate), yearAfter(i.BuildDate)
		}
	}
	maps.DeleteFunc(p, func(_, value string) bool { return value == "" })
	return over(p, i.Properties)
}

// yearAfter is the same day a year later; 29 February becomes 1 March.
func yearAfter(date string) string {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return ""
	}
	return day.AddDate(1, 0, 0).Format(time.DateOnly)
}

// check returns the remedy for a wrong value, "" for a right one.
type check func(value string) string

func oneOf(words ...string) check {
	return func(value string) string {
		if slices.Contains(words, value) {
			return ""
		}
		return "use one of " + strings.Join(words, ", ")
	}
}

func matching(pattern, remedy string) check {
	compiled := regexp.MustCompile(`^(?:` + pattern + `)$`)
	return func(value string) string {
		if compiled.MatchString(value) {
			return ""
		}
		return remedy
	}
}

func numeric(value string) string {
	if n, err := strconv.Atoi(value); err != nil || n < 0 {
		return "write a number of hours"
	}
	return ""
}

const datePattern = `\d{4}-\d{2}-\d{2}`

// known are the properties with a fixed set of values: Nova's of its
// ImageMetaProps object, Glance's, and those of scs-0102.
func known() map[string]check {
	yesNo := oneOf("yes", "no", "true", "false", "True", "False")
	version := func(value string) string {
		if completeVersion(value) {
			return ""
		}
		return "write the full version, such as v1.34.2"
	}
	return map[string]check{
		PropertyArchitecture:        oneOf("x86_64", "aarch64", "i686", "ppc64le", "s390x", "riscv64"),
		"hypervisor_type":           oneOf("kvm", "qemu", "xen", "vmware", "hyperv", "ironic", "lxc"),
		"os_distro":                 matching(`[a-z0-9][a-z0-9._-]*`, "write libosinfo's name in lower case, such as ubuntu"),
		"os_type":                   oneOf("linux", "windows"),
		"kube_version":              version,
		"kubernetes_version":        version,
		"hw_disk_bus":               oneOf("scsi", "virtio", "sata", "ide", "usb", "fdc", "xen", "uml", "lxc"),
		"hw_cdrom_bus":              oneOf("scsi", "virtio", "sata", "ide", "usb"),
		"hw_scsi_model":             oneOf("virtio-scsi", "lsilogic", "lsisas1068", "lsisas1078", "buslogic", "ibmvscsi", "vmpvscsi", "auto"),
		"hw_rng_model":              oneOf("virtio"),
		"hw_vif_model":              oneOf("virtio", "e1000", "e1000e", "ne2k_pci", "netfront", "pcnet", "rtl8139", "lan9118", "spapr-vlan", "vmxnet3", "igb"),
		"hw_firmware_type":          oneOf("bios", "uefi"),
		"hw_watchdog_action":        oneOf("disabled", "reset", "poweroff", "pause", "none"),
		"hw_video_model":            oneOf("virtio", "vga", "cirrus", "qxl", "bochs", "none", "gop", "vmvga", "xen"),
		"hw_qemu_guest_agent":       yesNo,
		"hw_vif_multiqueue_enabled": yesNo,
		"os_require_quiesce":        yesNo,
		"os_secure_boot":            oneOf("required", "optional", "disabled"),
		"replace_frequency":         oneOf("yearly", "quarterly", "monthly", "weekly", "daily", "critical_bug", "never"),
		"uuid_validity":             matching(`none|notice|forever|last-\d+|`+datePattern, "write none, notice, forever, last-N or a date"),
		"provided_until":            matching(`none|notice|`+datePattern, "write none, notice or a date"),
		"image_build_date":          matching(datePattern+`([ T]\d{2}:\d{2}(:\d{2})?)?`, "write a date such as 2026-01-31"),
		"image_source":              matching(`https?://.+|private`, "write the URL, or private"),
		"hotfix_hours":              numeric,
		"image_original_user":       matching(`\S+`, "write a user name"),
		"os_admin_user":             matching(`\S+`, "write a user name"),
		"image_description":         matching(`.+`, "write a text or a URL"),
		"os_version":                matching(`\S.*`, "write the distribution's version"),
		"os_purpose":                oneOf("generic", "minimal", "k8snode", "gpu", "network", "application", "custom"),
		"hw_machine_type":           matching(`\S+`, "write a QEMU machine type such as q35"),
	}
}

// knownNames are all properties that are known, also those of any value.
func knownNames() []string {
	more := []string{"hw_boot_menu", "hw_cpu_cores", "hw_cpu_max_cores", "hw_cpu_policy", "hw_cpu_sockets", "hw_cpu_thread_policy", "hw_cpu_threads",
		"hw_emulator_threads_policy", "hw_input_bus", "hw_locked_memory", "hw_maxphysaddr_bits", "hw_maxphysaddr_mode", "hw_mem_encryption", "hw_mem_page_size", "hw_numa_nodes",
		"hw_pci_numa_affinity_policy", "hw_pmu", "hw_pointer_model", "hw_rescue_bus", "hw_rescue_device", "hw_serial_port_count", "hw_time_hpet",
		"hw_tpm_model", "hw_tpm_version", "hw_vcpu_sockets", "hw_video_ram", "hw_viommu_model", "hw_virtio_packed_ring", "os_command_line", "os_shutdown_timeout",
		"os_skip_agent_inject_at_boot", "os_skip_agent_inject_files_at_boot", "magnum_driver", "patchlevel", "hotfix_hours", "license_included", "license_required"}
	return append(slices.Sorted(maps.Keys(known())), more...)
}
