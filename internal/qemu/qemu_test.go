package qemu

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHardwareVirtualizationIsAFlag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"processor\t: 0\nflags\t\t: fpu vmx sse4_2\n": true, "flags\t\t: svm\n": true,
		"vmx flags\t: ept\nflags\t\t: fpu\n": false, "flags\t\t: fpu svmx\n": false, "": false,
	} {
		if got := virtualizes(bytes.NewBufferString(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// The guest of the probe gets through where its instructions run at all; it is what
// testdata/probe.s says.
func TestTheProbeGetsThroughEmulated(t *testing.T) {
	t.Parallel()
	tools, lacks := Find()
	if len(lacks) > 0 {
		t.Skipf("%v: run make deps", lacks)
	}
	if err := tools.probe(t.Context(), TCG, "Nehalem"); err != nil {
		t.Error(err)
	}
	// cmpxchg16b is what tells KVM's emulator from a processor: a guest without it
	// does not get through.
	if err := tools.probe(t.Context(), TCG, "Nehalem,-cx16"); err == nil {
		t.Error("a processor without cmpxchg16b passes")
	}
	if err := tools.probe(t.Context(), TCG, "no-such-model"); err == nil || !strings.Contains(err.Error(), "no-such-model") {
		t.Errorf("QEMU's words are lost: %v", err)
	}
}

func TestTheProbeIsItsSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	object, out := filepath.Join(dir, "o"), filepath.Join(dir, "bin")
	for _, args := range [][]string{{"as", "--64", "-o", object, "testdata/probe.s"},
		{"ld", "-Ttext", "0x7c00", "--oformat", "binary", "-o", out, object}} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skip(err)
		}
		if text, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	code, err := os.ReadFile(out)
	if err != nil || string(code) != probeCode {
		t.Errorf("%v: probeCode is not what testdata/probe.s makes", err)
	}
}

func TestTheAcceleratorIsChosen(t *testing.T) {
	t.Parallel()
	none := Tools{System: "/nowhere/qemu"} // KVM cannot work with it
	for wanted, want := range map[string]string{TCG: TCG, Auto: TCG} {
		if got, err := none.Accelerator(t.Context(), wanted); got != want || err != nil {
			t.Errorf("%s: %q, %v", wanted, got, err)
		}
	}
	if got, err := none.Accelerator(t.Context(), KVM); err == nil {
		t.Errorf("KVM is taken without a probe: %q", got)
	}
}

func TestBaseArguments(t *testing.T) {
	t.Parallel()
	args := Base("a,b", KVM, 3, 512)
	for _, want := range [][2]string{{"-name", "a,,b"}, {"-cpu", "host"}, {"-accel", "kvm"}, {"-smp", "3"}, {"-m", "512"}} {
		if i := slices.Index(args, want[0]); i < 0 || args[i+1] != want[1] {
			t.Errorf("%v: not %v", args, want)
		}
	}
}

// What UEFI remembers is kept; what a full disk has left half of it is not.
func TestVariablesOfUEFI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tools := Tools{Variables: filepath.Join(dir, "template")}
	file := filepath.Join(dir, "variables.fd")
	if _, err := tools.Firmware(file); err == nil {
		t.Error("variables without a template")
	}
	if err := os.WriteFile(tools.Variables, []byte("begin"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ have, want string }{{"", "begin"}, {"beg", "begin"}, {"later", "later"}} {
		if err := os.WriteFile(file, []byte(c.have), 0o600); err != nil {
			t.Fatal(err)
		}
		args, err := tools.Firmware(file)
		if text, _ := os.ReadFile(file); err != nil || len(args) != 4 || string(text) != c.want {
			t.Errorf("%q becomes %q: %v", c.have, text, err)
		}
	}
}

func TestToolsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	tools, lacks := Find()
	if len(lacks) > 0 {
		t.Skipf("%v: run make deps", lacks)
	}
	dir := t.TempDir()
	disk := filepath.Join(dir, "a,b.qcow2")
	err := tools.Overlay(t.Context(), disk, filepath.Join(dir, "absent"), "raw", 1<<20)
	if err == nil || !strings.Contains(err.Error(), "qemu-img") || !strings.Contains(err.Error(), "absent") {
		t.Errorf("%v", err)
	}
	drive := filepath.Join(dir, "config.iso")
	if err := tools.ConfigDrive(t.Context(), drive, map[string][]byte{"openstack/latest/user_data": []byte("the user data")}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(drive)
	if err != nil || !bytes.Contains(text, []byte("config-2")) || !bytes.Contains(text, []byte("the user data")) {
		t.Errorf("%v: the drive has no label or no document", err)
	}
	if _, err := os.Stat(drive + ".tree"); err == nil {
		t.Error("the folder of the drive's files is left")
	}
}
