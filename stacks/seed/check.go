package seed

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// MachineFacts is a script that prints the facts of a machine and changes nothing. Its
// arguments are the root folder ("" for that of the system), the networks of pods and of
// Services, and the programs that must be there.
//
//go:embed check/machine-facts
var MachineFacts string

// BroughtMark is the file that tells a machine to which k3s was brought from one that
// was made with it.
const BroughtMark = "/etc/slipway/brought"

// programs are what the seed's scripts and k3s run, by the package of Debian that has
// them; other distributions name them alike.
func programs() map[string][]string {
	return map[string][]string{
		"tar":        {"tar"},
		"coreutils":  {"sha256sum", "cut", "df", "install", "tail", "wc", "sync", "readlink"},
		"util-linux": {"blkid", "findmnt", "flock", "mountpoint"},
		"mount":      {"mount"},
		"e2fsprogs":  {"mkfs.ext4", "e2fsck", "resize2fs"},
		"diffutils":  {"cmp"},
		"kmod":       {"modprobe"},
		"procps":     {"sysctl"},
		"iproute2":   {"ip"},
		"systemd":    {"systemctl", "journalctl", "systemd-tmpfiles"},
	}
}

// NeededPrograms are the programs without which a seed does not work. iptables is not one:
// k3s has its own, or it is brought.
func NeededPrograms() []string {
	var all []string
	for _, list := range programs() {
		all = append(all, list...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Facts are what MachineFacts found.
type Facts struct {
	// Own says that the machine was made with the bundle's image; then nothing else is known.
	Own          bool
	Architecture string
	// System is the distribution's name, for people.
	System, Init string
	// Lacks are programs, Modules are modules of the kernel that are absent.
	Lacks, Modules []string
	// CgroupVersion is "1" or "2", Controllers those of version 2.
	CgroupVersion string
	Controllers   []string
	// Denied are folders that cannot be written to, NoExec those from which no program runs.
	Denied, NoExec []string
	// SELinux is "off", "permissive" or "enforcing".
	SELinux string
	// Firewall is "none", "firewalld" or "ufw"; Blocks is what it does not let pass.
	Firewall string
	Blocks   []string
	// Rivals are running units that k3s cannot run beside.
	Rivals []string
}

// ParseFacts reads the output of MachineFacts. Unknown keys are errors, and missing ones:
// then the script did not run to its end.
func ParseFacts(out string) (Facts, error) {
	values := map[string]string{}
	for line := range strings.Lines(out) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "=")
		if !ok {
			return Facts{}, fmt.Errorf("the check of the machine printed %q", strings.TrimSpace(line))
		}
		values[key] = value
	}
	if values["image"] == "own" {
		return Facts{Own: true}, nil
	}
	for _, key := range []string{"image", "architecture", "init", "lacks", "cgroup", "modules", "denied", "noexec", "selinux", "firewall", "blocks", "rivals"} {
		if _, ok := values[key]; !ok {
			return Facts{}, fmt.Errorf("the check of the machine did not say %s", key)
		}
	}
	list := func(key string) []string { return strings.Fields(values[key]) }
	return Facts{
		Architecture: values["architecture"], System: values["system"], Init: values["init"],
		Lacks: list("lacks"), Modules: list("modules"), CgroupVersion: values["cgroup"], Controllers: list("controllers"),
		Denied: list("denied"), NoExec: list("noexec"), SELinux: values["selinux"], Firewall: values["firewall"], Blocks: list("blocks"), Rivals: list("rivals"),
	}, nil
}

// Needs are what the bundle's programs need of a machine.
type Needs struct {
	// Architecture is as uname names it; "" is any.
	Architecture string
	// CgroupV2 says that version 1 is not enough.
	CgroupV2 bool
}

// Problems returns one fault for each thing that keeps the machine from being a seed;
// nil if it can be one.
func (f Facts) Problems(needs Needs) error {
	architecture := needs.Architecture
	var all []error
	refuse := func(remedy, format string, args ...any) {
		all = append(all, fault.New("seed's machine ("+orUnknown(f.System)+")", fmt.Errorf(format, args...), remedy))
	}
	if architecture != "" && f.Architecture != architecture {
		refuse("use the build of the image for "+architecture, "its processor is %s, but the bundle is for %s", f.Architecture, architecture)
	}
	if f.Init != "systemd" {
		refuse("use an image with systemd", "its first process is %s, not systemd", orUnknown(f.Init))
	}
	f.cgroups(refuse, needs.CgroupV2)
	f.programs(refuse)
	if len(f.Modules) > 0 {
		refuse("install the kernel package that has them (Debian: linux-image-cloud-amd64, Ubuntu: linux-modules-extra, Rocky and Alma: kernel-modules), or use another image",
			"its kernel has no module %s", strings.Join(f.Modules, ", "))
	}
	if len(f.Denied) > 0 {
		refuse("use an image whose root file system can be written to", "%s cannot be written to", strings.Join(f.Denied, ", "))
	}
	if len(f.NoExec) > 0 {
		refuse("mount it without noexec in the image; noexec on /tmp is fine", "no program may run from %s: it is mounted with noexec", strings.Join(f.NoExec, ", "))
	}
	f.firewall(refuse)
	if len(f.Rivals) > 0 {
		refuse("use an image without them, or switch them off in the image: systemctl disable --now "+strings.Join(f.Rivals, " "), "%s runs, and k3s cannot run beside it", strings.Join(f.Rivals, ", "))
	}
	return errors.Join(all...)
}

type refusal func(remedy, format string, args ...any)

// cgroups: kubelet does not start with version 1 from Kubernetes 1.35 on (KEP-5573), and
// with version 2 it needs the controllers named.
func (f Facts) cgroups(refuse refusal, needs2 bool) {
	if f.CgroupVersion != "2" {
		if needs2 {
			refuse("boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line, or use a newer release of the distribution", "it uses cgroup v1, but the bundle's k3s needs cgroup v2")
		}
		return
	}
	var absent []string
	for _, name := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !slices.Contains(f.Controllers, name) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		refuse("remove cgroup_disable from the kernel's command line", "cgroup v2 has no controller %s", strings.Join(absent, ", "))
	}
}

func (f Facts) programs(refuse refusal) {
	lacks := f.Lacks
	if len(lacks) == 0 {
		return
	}
	var packages []string
	for name, list := range programs() {
		if slices.ContainsFunc(lacks, func(p string) bool {
			return slices.Contains(list, p)
		}) {
			packages = append(packages, name)
		}
	}
	slices.Sort(packages)
	refuse("install the packages into the image (on Debian: "+strings.Join(packages, ", ")+"), or use another image", "it has no %s", strings.Join(lacks, ", "))
}

func (f Facts) firewall(refuse refusal) {
	if len(f.Blocks) == 0 {
		return
	}
	var open []string
	for _, what := range f.Blocks {
		network := strings.Contains(what, ":") || strings.Count(what, ".") == 3
		switch {
		case f.Firewall == "firewalld" && network:
			open = append(open, "firewall-cmd --permanent --zone=trusted --add-source="+what)
		case f.Firewall == "firewalld":
			open = append(open, "firewall-cmd --permanent --add-port="+what)
		case network:
			open = append(open, "ufw allow from "+what)
		default:
			open = append(open, "ufw allow "+what)
		}
	}
	if f.Firewall == "firewalld" {
		open = append(open, "firewall-cmd --reload")
	}
	refuse("switch it off in the image (systemctl disable --now "+f.Firewall+"; the seed's security group filters), or let them pass: "+strings.Join(open, "; "),
		"%s is active and blocks %s, which k3s needs", f.Firewall, strings.Join(f.Blocks, ", "))
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
