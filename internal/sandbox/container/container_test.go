package container

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// offline is a driver that runs nothing.
func offline(t *testing.T) *Driver {
	t.Helper()
	dir := t.TempDir()
	place, err := site.Open(site.Options{Dir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run")})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(place, "true")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHostname(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"node-a":                    "node-a",
		"Node B!":                   "node-b",
		"a_b.example.org":           "a-b.example.org",
		"":                          "server-id",
		"...":                       "server-id",
		strings.Repeat("x", 70):     strings.Repeat("x", 63),
		strings.Repeat("x-", 40):    strings.TrimSuffix(strings.Repeat("x-", 31)+"x", "-"),
		"ünïcode":                   "n-code",
		"../../etc/passwd":          "etc-passwd",
		"line\nbreak; rm -rf /\x00": "line-break-rm--rf",
	} {
		s := &server{Spec: machine.Spec{ID: "id", Name: in}}
		if got := s.hostname(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// An image goes with its last machine, also when that has not run since the start of the
// sandbox, so that the image is not mounted.
func TestImagesThatAreNotMountedAreDropped(t *testing.T) {
	t.Parallel()
	d := offline(t)
	file := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := d.images.Keep(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	for _, used := range []bool{true, false} {
		if err := d.DropImages(map[string]bool{name: used}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(d.images.File(name)); (err == nil) != used {
			t.Errorf("used: %t: %v", used, err)
		}
	}
}

func TestConsoleOutlivesItsUsers(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	c, tty, err := openConsole(log)
	if err != nil {
		t.Fatal(err)
	}
	name := c.TTY
	tty.Close()
	for _, line := range []string{"first\n", "second\n"} { // each opens and closes it
		if err := os.WriteFile(name, []byte(line), 0); err != nil {
			t.Fatal(err)
		}
	}
	copier := c.ID
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text, _ := process.Tail(log, 0); text == "first\nsecond\n" {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the log holds %q", text)
		}
	}
	c.close()
	for end := time.Now().Add(30 * time.Second); copier.Runs(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process that copies still runs")
		}
	}
	other := console{ID: process.ID{PID: os.Getpid(), Started: "1"}}
	other.close() // must not kill a process that has the number of an earlier one
}

// TestLocalDisks are files of the machine's own that are found by their places on
// the bus, and go with it.
func TestLocalDisks(t *testing.T) {
	t.Parallel()
	d := offline(t)
	s := &server{driver: d}
	spec := machine.Spec{ID: "id", Volumes: []string{"v"}, Local: []machine.LocalDisk{{GiB: 2, Address: "0000:00:10.0"}}}
	if err := s.Make(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	file, err := os.Stat(d.volumes.Path("id-local-0"))
	if err != nil || file.Size() != 2<<30 || !slices.Equal(s.Slots, []string{"v", "id-local-0"}) {
		t.Errorf("%v, slots %v", err, s.Slots)
	}
	for id, want := range map[string]string{"v": "disk/by-id/virtio-v", "id-local-0": "disk/by-path/pci-0000:00:10.0"} {
		if got := s.link(id); got != want {
			t.Errorf("%s is found by %s, want %s", id, got, want)
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	d := offline(t)
	ctx := t.Context()
	if state, err := d.State(ctx, "unknown"); state != machine.Gone || err != nil {
		t.Errorf("unknown: %s, %v", state, err)
	}
	if err := d.Start(ctx, "unknown"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("starting what is not there: %v", err)
	}
	for _, id := range []string{"", ".", "..", "../x", "a/b"} {
		if _, err := d.Load(id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	s, _ := d.Load("one")
	if err := s.Make(ctx, machine.Spec{ID: "one"}); err == nil {
		t.Error("a machine without a disk")
	}
	if err := s.Make(ctx, machine.Spec{ID: "one", Volumes: []string{"v"}, Ports: []machine.Port{{ID: "p"}}}); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(s.path("server.json"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("record, which holds user data: %v, %v", st.Mode(), err)
	}
	again, err := d.Load("one")
	if err != nil || again.Slots[0] != "v" || again.NICs[0].Name != "eth0" {
		t.Errorf("read again: %+v, %v", again, err)
	}
	if got, _ := d.List(ctx); !slices.Equal(got, []string{"one"}) {
		t.Errorf("list: %v", got)
	}
	if state, _ := d.State(ctx, "one"); state != machine.Stopped {
		t.Errorf("state: %s", state)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	lacks := Missing(Options{Dir: t.TempDir(), Runc: "/nowhere/runc"})
	if !slices.ContainsFunc(lacks, func(l site.Lack) bool { return l.Fatal && l.Remedy != "" && l.Without != "" }) {
		t.Errorf("neither root rights nor a runtime are missed: %+v", lacks)
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	d := offline(t)
	s := &server{driver: d, Spec: machine.Spec{ID: "id", Name: "n", VCPUs: 2, MemoryMiB: 512}}
	spec, err := s.spec()
	if err != nil {
		t.Fatal(err)
	}
	if r := spec.Linux.Resources; *r.CPU.Quota != 200_000 || *r.CPU.Period != 100_000 || *r.Memory.Limit != 512<<20 {
		t.Errorf("limits: %+v %+v", r.CPU, r.Memory)
	}
	if !slices.Contains(spec.Process.Env, "product_name=OpenStack Nova") {
		t.Error("cloud-init does not know the platform")
	}
	s.Spec.Trouble = []string{"no-boot"}
	if spec, err = s.spec(); err != nil || spec.Process.Args[0] == "/sbin/init" {
		t.Errorf("a machine that is not to boot boots: %v, %v", spec.Process.Args, err)
	}
}

func TestASlowDiskIsThrottledWhereItsFolderLies(t *testing.T) {
	t.Parallel()
	s := &server{driver: offline(t), Spec: machine.Spec{ID: "slow", Trouble: []string{"slow-disk"}}}
	r, err := s.resources()
	major, minor, found := diskOf(s.driver.Dir)
	if found != nil { // the folder is on no block device, as in a container
		if err == nil || !strings.Contains(err.Error(), "finding the disk") {
			t.Errorf("without a block device: %v", err)
		}
		return
	}
	if err != nil || r.BlockIO == nil {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, d := range [][]specs.LinuxThrottleDevice{r.BlockIO.ThrottleReadBpsDevice, r.BlockIO.ThrottleWriteIOPSDevice} {
		if len(d) != 1 || d[0].Major != int64(major) || d[0].Minor != int64(minor) || d[0].Rate == 0 {
			t.Errorf("throttled is %+v, the disk is %d:%d", d, major, minor)
		}
	}
	s.Spec.Trouble = nil
	if r, err := s.resources(); err != nil || r.BlockIO != nil {
		t.Errorf("without trouble: %v, %+v", err, r.BlockIO)
	}
}
