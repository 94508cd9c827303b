package source

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/config"
)

// folder writes files below a folder, and links where a text begins with "→".
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "→"); isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAMachineWithoutAKernelIsRefused(t *testing.T) {
	t.Parallel()
	whole := func() map[string]string {
		return map[string]string{"boot/vmlinuz-6": "k", "boot/initrd.img-6": "i", "boot/config-6": "c", "vmlinuz": "→boot/vmlinuz-6", "initrd.img": "→boot/initrd.img-6"}
	}
	m := machine{Processor: hostProcessor()}
	if err := m.findKernel(t.Context(), nil, folder(t, whole())); err != nil {
		t.Error(err)
	}
	for lost, want := range map[string]string{"boot/vmlinuz-6": "no /vmlinuz", "initrd.img": "no /initrd.img", "boot/config-6": "no /boot/config-*"} {
		files := whole()
		delete(files, lost)
		if err := m.findKernel(t.Context(), nil, folder(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v, want %q", lost, err, want)
		}
	}
}

func TestUnitsOfPackagesAreEnabledToo(t *testing.T) {
	t.Parallel()
	const unit = "[Install]\nWantedBy=multi-user.target\n"
	root := folder(t, map[string]string{"etc/systemd/system/own.service": unit, "lib/systemd/system/package.service": unit,
		"etc/systemd/system/both.service": unit, "lib/systemd/system/both.service": unit, "etc/systemd/system/many@.service": unit,
		"etc/systemd/system/multi-user.target.wants/package.service": "→/elsewhere"})
	m := machine{Enable: []string{"own.service", "package.service", "both.service", "many@one.service"}}
	if err := m.enable(t.Context(), nil, root); err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{"own.service": "/etc/systemd/system/own.service", "package.service": "/lib/systemd/system/package.service",
		"both.service": "/etc/systemd/system/both.service", "many@one.service": "/etc/systemd/system/many@.service"} {
		if got, err := os.Readlink(filepath.Join(root, "etc/systemd/system/multi-user.target.wants", link)); got != want {
			t.Errorf("%s is %s (%v), want %s", link, got, err, want)
		}
	}
	for _, name := range []string{"absent.service", "plain.service"} {
		root := folder(t, map[string]string{"lib/systemd/system/plain.service": "[Unit]\n"})
		if err := (machine{Enable: []string{name}}).enable(t.Context(), nil, root); err == nil {
			t.Errorf("%s is enabled", name)
		}
	}
}

// The properties of machines are what Nova knows: a manifest with them is right.
func TestPropertiesOfMachinesAreNovas(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{"etc/os-release": "ID=debian\nVERSION_ID=\"12\"\n"})
	properties, err := machine{Processor: hostProcessor(), Version: "v1.34.4"}.properties(root)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for name, value := range properties {
		list.WriteString("        " + name + ": \"" + value + "\"\n")
	}
	text := "apiVersion: " + manifest.APIVersion + "\nkind: " + manifest.Kind + "\nspec:\n  images:\n    - name: node\n      bundle: node\n      format: raw\n      properties:\n" + list.String()
	if _, err := manifest.Parse(config.Source{Name: "images.yaml", Text: []byte(text)}); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for name, want := range map[string]string{"hw_disk_bus": "virtio", "hw_vif_model": "virtio", "hw_rng_model": "virtio", "hw_cdrom_bus": "scsi",
		"hw_scsi_model": "virtio-scsi", "os_type": "linux", "os_distro": "debian", "os_version": "12", "kube_version": "v1.34.4"} {
		if properties[name] != want {
			t.Errorf("%s is %q, want %q", name, properties[name], want)
		}
	}
	if _, set := properties["hw_firmware_type"]; set {
		t.Error("the firmware is not the cloud's to choose")
	}
}

// Every file that keeps a unit away from containers names a unit that a machine
// of its own needs, and the wait for a network has an end.
func TestVirtualMachinesBringUpTheirNetwork(t *testing.T) {
	t.Parallel()
	const units = "machines/common/etc/systemd/system/"
	for _, unit := range []string{"systemd-networkd.service", "systemd-networkd.socket", "systemd-networkd-wait-online.service", "systemd-resolved.service"} {
		text, err := machineFiles.ReadFile(units + unit + ".d/slipway.conf")
		if err != nil || !strings.Contains(string(text), "\nConditionVirtualization=!container\n") {
			t.Errorf("%s also starts in containers (%v)", unit, err)
		}
	}
	text, err := machineFiles.ReadFile(units + "systemd-networkd-wait-online.service.d/slipway.conf")
	if err != nil || !regexp.MustCompile(`(?m)^ExecStart=\nExecStart=\S+ --any --timeout=30$`).Match(text) {
		t.Errorf("the wait for a network has no end: %s (%v)", text, err)
	}
	menu, err := machineFiles.ReadFile("machines/common/boot/grub/grub.cfg")
	for _, want := range []string{"linux /vmlinuz root=LABEL=" + rootLabel + " rw ", "console=ttyS0", "\ninitrd /initrd.img\n", "\nboot\n"} {
		if err != nil || !strings.Contains(string(menu), want) {
			t.Errorf("grub.cfg lacks %q (%v)", want, err)
		}
	}
	if !strings.Contains(earlyConfig(), "--label "+rootLabel+"\n") {
		t.Errorf("GRUB looks for another label: %s", earlyConfig())
	}
	for _, name := range []string{nodeSystem, seedSystem} {
		enabled := strings.Join(recipes()[name].(machine).Enable, " ")
		if !strings.Contains(enabled, networkUnits) {
			t.Errorf("%s enables %s", name, enabled)
		}
	}
}

func TestTheBootLoaderIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"boot": "sector", "core": "core", "efi": "program"})
	archive := filepath.Join(dir, "loader.tar")
	files := map[string]string{bootSectorFile: filepath.Join(dir, "boot"), coreFile: filepath.Join(dir, "core"), efiFile: filepath.Join(dir, "efi")}
	if err := writeLoader(archive, files); err != nil {
		t.Fatal(err)
	}
	loader, err := readLoader(archive, "BOOTX64.EFI")
	if err != nil || string(loader.BootSector) != "sector" || string(loader.Core) != "core" || string(loader.EFI) != "program" || loader.EFIName != "BOOTX64.EFI" {
		t.Errorf("%+v, %v", loader, err)
	}
	if err := os.Truncate(archive, 514); err != nil {
		t.Fatal(err)
	}
	if _, err := readLoader(archive, ""); err == nil {
		t.Error("an archive that is cut off is read")
	}
}

func TestMachinesMakeTheirOwnIdentity(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{"etc/machine-id": "0123", "etc/hostname": "builder", "etc/resolv.conf": "→../run/systemd/resolve/stub-resolv.conf",
		"etc/ssh/ssh_host_ed25519_key": "secret"})
	if err := (machine{}).writeFiles(t.Context(), nil, root); err != nil {
		t.Fatal(err)
	}
	for _, name := range blank() {
		if text, err := os.ReadFile(filepath.Join(root, name)); err != nil || len(text) > 0 {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if target, err := os.Readlink(filepath.Join(root, "etc/resolv.conf")); target != resolverFile {
		t.Errorf("resolv.conf leads to %s (%v)", target, err)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/ssh/ssh_host_ed25519_key")); !os.IsNotExist(err) {
		t.Errorf("the host key of the build is left: %v", err)
	}
}
