package try

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// console reads what a machine prints to its serial port. It is fed with pieces as
// they come and the time since the start.
type console struct {
	image   image
	partial []byte
	lines   []string
	reached map[Milestone]time.Duration
	// stopped is why the machine does not go on, since when, and its own words.
	stopped Reason
	since   time.Duration
	words   string
	// what is known of the machine.
	kernelSpoke, login, cloudInit, noSource, marker bool
	loginSince                                      time.Duration
	// hung is when the kernel first said, after the last milestone, that a task waits for a
	// device in vain; report are its words.
	hung        time.Duration
	report      string
	rootBytes   int64
	failedUnits []string
	node        Node
}

func newConsole(i image) *console { return &console{image: i, reached: map[Milestone]time.Duration{}} }

// keptLines is how much of the console a report has.
const keptLines = 40

// escapes are what terminals read as commands.
var escapes = regexp.MustCompile(`\x1b(\[[0-9;?=]*[A-Za-z]|[()][A-Z0-9]|[=>cM78])|[\x00-\x08\x0b-\x1f]`)

// write takes a piece of the console.
func (c *console) write(piece []byte, at time.Duration) {
	c.partial = append(c.partial, piece...)
	for {
		line, rest, found := bytes.Cut(c.partial, []byte("\n"))
		text := strings.TrimRight(escapes.ReplaceAllString(string(line), ""), " ")
		c.read(text, at) // prompts end without a new line
		if !found {
			break
		}
		if text != "" {
			if c.lines = append(c.lines, text); len(c.lines) > keptLines {
				c.lines = c.lines[1:]
			}
		}
		c.partial = append([]byte(nil), rest...)
	}
	if len(c.partial) > 1<<16 { // no line is as long
		c.partial = nil
	}
}

// tail is the end of the console.
func (c *console) tail() []string {
	last := strings.TrimRight(escapes.ReplaceAllString(string(c.partial), ""), " ")
	if last == "" {
		return c.lines
	}
	return append(c.lines[:len(c.lines):len(c.lines)], last)
}

// signs are the texts by which a milestone is known.
var signs = []struct {
	milestone Milestone
	text      *regexp.Regexp
}{
	{FirmwareStarted, regexp.MustCompile(`^SeaBIOS \(version|^BdsDxe: |^UEFI firmware|^Booting from `)},
	{BootLoaderStarted, regexp.MustCompile(`^GRUB loading|Welcome to GRUB!|^SYSLINUX |^EXTLINUX |^ISOLINUX |systemd-boot|^BdsDxe: starting Boot\d+ "UEFI |^Loading the kernel|Booting .*Linux|^LILO `)},
	{KernelStarted, regexp.MustCompile(`^\[ *\d+\.\d{6}\]|Linux version \d|^EFI stub: |Decompressing Linux|^Loading Linux |^Loading, please wait`)},
	{InitStarted, regexp.MustCompile(`systemd\[1\]: |^INIT: version|Welcome to .*[^B][!.]$|OpenRC .* is starting up`)},
	{NetworkUp, regexp.MustCompile(`ci-info: .*\| *True *\| *(10\.0\.2\.|fec0:)|(Reached|Finished) .*([Nn]etwork is [Oo]nline|network-online\.target)`)},
	{CloudInitDone, regexp.MustCompile(`Cloud-init v\. .* finished at`)},
}

// stops are the texts after which a machine does not go on.
var stops = []struct {
	reason Reason
	text   *regexp.Regexp
}{
	{WrongArchitecture, regexp.MustCompile(`Image type \w+ can't be loaded on|^BdsDxe: failed to load Boot\d+ "UEFI .*: Unsupported|invalid arch-dependent ELF magic|requires an? .*CPU, but only detected|Fatal glibc error: CPU does not support|[Ii]nvalid (PE|EFI) .*architecture`)},
	{NoBootLoader, regexp.MustCompile(`No bootable device|not a bootable disk|BdsDxe: No bootable option|UEFI Interactive Shell|^Shell>|Missing operating system|Operating system not found`)},
	{LoaderStopped, regexp.MustCompile(`(^| )grub( rescue)?>$|Minimal BASH-like line editing|you need to load the kernel first|^boot:$|Failed to load ldlinux`)},
	{NoRoot, regexp.MustCompile(`VFS: Unable to mount root fs|VFS: Cannot open root device|Gave up waiting for (the )?root|ALERT! .*does not exist|ALERT! .*not found|dracut-initqueue.*timeout|Warning: .*/dev/.* does not exist|No root device (specified|found)|^\(initramfs\)$|mount: mounting .* on /root failed`)},
	{KernelPanic, regexp.MustCompile(`Kernel panic - not syncing|end Kernel panic|Kernel panic:`)},
	{EmergencyMode, regexp.MustCompile(`You are in emergency mode|Welcome to emergency mode|Entering emergency mode`)},
}

// What else is looked for; noSource is how cloud-init ends without a data source.
var (
	noSource    = regexp.MustCompile(`Datasource DataSourceNone|No instance datasource found|did not find any data source|Used fallback datasource`)
	cloudInit   = regexp.MustCompile(`Cloud-init v\. |cloud-init\[\d+\]`)
	hungTask    = regexp.MustCompile(`INFO: task \S+ blocked for more than \d+ seconds`)
	loginPrompt = regexp.MustCompile(`\w login:`)
	markerLine  = regexp.MustCompile(`slipway-report root_kib=(\d{1,15}) failed=(\S*)(?: kubeadm=(\S*) kubelet=(\S*) runtime=(\S*))? end`)
)

// read looks at a line, or at what there is of one.
func (c *console) read(line string, at time.Duration) {
	if line == "" {
		return
	}
	if m := markerLine.FindStringSubmatch(line); m != nil {
		kib, _ := strconv.ParseInt(m[1], 10, 64) // digits
		c.marker, c.rootBytes = true, kib<<10
		c.node = Node{Kubeadm: m[3], Kubelet: m[4], Runtime: m[5]}
		c.failedUnits = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
		return
	}
	if strings.Contains(line, "slipway-report") { // the marker, not whole yet
		return
	}
	for _, s := range signs {
		if s.text.MatchString(line) {
			c.reach(s.milestone, at)
		}
	}
	c.cloudInit = c.cloudInit || cloudInit.MatchString(line)
	c.noSource = c.noSource || noSource.MatchString(line)
	if c.hung == 0 && hungTask.MatchString(line) {
		c.hung, c.report = at, line
	}
	if !c.login && loginPrompt.MatchString(line) {
		c.login, c.loginSince = true, at
		c.reach(InitStarted, at)
	}
	for _, s := range stops {
		if s.text.MatchString(line) {
			c.stop(s.reason, line, at)
			return
		}
	}
}

// reach notes a milestone, and those before it that the machine did not print: a
// quiet kernel is known by its init.
func (c *console) reach(m Milestone, at time.Duration) {
	if m == KernelStarted || m == InitStarted || m == CloudInitDone {
		c.kernelSpoke = true
	}
	for _, earlier := range Milestones() {
		if _, known := c.reached[earlier]; !known && earlier != SSHAnswers && earlier != m {
			c.reached[earlier] = at
		}
		if earlier == m {
			if _, known := c.reached[m]; !known {
				c.reached[m], c.hung = at, 0 // it goes on: the device was only slow
			}
			return
		}
	}
}

// stop records why the boot stopped. A panic because the root is missing counts as a
// missing root; later lines only add evidence.
func (c *console) stop(r Reason, line string, at time.Duration) {
	if r == LoaderStopped || r == NoBootLoader || r == WrongArchitecture {
		if _, on := c.reached[InitStarted]; on {
			return // words of a program, not of the loader
		}
	}
	switch {
	case c.stopped == "":
		c.stopped, c.since, c.words = r, at, line
	case c.stopped == KernelPanic && r == NoRoot, c.stopped == NoBootLoader && r == WrongArchitecture:
		c.stopped, c.words = r, line
	case c.stopped == r && strings.HasPrefix(line, c.words):
		c.words = line // it was not whole before
	case c.stopped == NoRoot && r == NoRoot && strings.Contains(line, "does not exist"):
		c.words = line // which one it waited for
	}
}
