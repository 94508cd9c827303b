package source

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// hardware are the properties by which Nova gives a machine the devices that its
// kernel has drivers for (Nova's ImageMetaProps). The disk boots by BIOS and by
// UEFI, so that hw_firmware_type is left to the cloud.
func hardware(p processor) map[string]string {
	return map[string]string{
		"architecture": p.Name,
		"hw_disk_bus":  "virtio",
		"hw_vif_model": "virtio",
		"hw_rng_model": "virtio",
		// Debian's cloud kernel has no AHCI: it does not see a configuration drive on
		// the SATA bus, which machines of type q35 have by default.
		"hw_cdrom_bus":  "scsi",
		"hw_scsi_model": "virtio-scsi",
	}
}

// properties are what the image must say of itself in Glance, from what is in it.
func (m machine) properties(root string) (map[string]string, error) {
	file, err := os.Open(filepath.Join(root, "etc/os-release"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	release := map[string]string{}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		key, value, _ := strings.Cut(scanner.Text(), "=")
		release[key] = strings.Trim(value, `"`)
	}
	if release["ID"] == "" || release["VERSION_ID"] == "" {
		return nil, errors.New("etc/os-release does not say which distribution this is")
	}
	properties := hardware(m.Processor)
	maps.Copy(properties, map[string]string{
		"os_type": "linux", "os_distro": release["ID"], "os_version": release["VERSION_ID"],
		"os_admin_user": "debian", "kube_version": m.Version,
	})
	return properties, scanner.Err()
}
