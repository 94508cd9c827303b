package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// recorder notes what is run, and does of it what later steps need.
type recorder struct {
	ran []string
	// fail is the first word of a command that fails once.
	fail string
}

func (r *recorder) run(_ context.Context, dir string, args ...string) error {
	r.ran = append(r.ran, strings.Join(args, " "))
	if args[0] == r.fail {
		r.fail = ""
		return errors.New("it failed")
	}
	if args[0] == "init" {
		return os.WriteFile(filepath.Join(dir, args[len(args)-1]), []byte("spec:\n  cloud: sandbox\n\n  seed:\n    flavor: m1.seed\n\n    network:\n      # Chosen.\n      cidr: 192.168.100.0/24\n    access:\n      sshCIDRs: [0.0.0.0/0]\n\n  # More.\n  bundle: bundle\n"), 0o644)
	}
	return nil
}

// verbs are the first words of what was run.
func (r *recorder) verbs() string {
	var words []string
	for _, line := range r.ran {
		words = append(words, strings.Fields(line)[0])
	}
	return strings.Join(words, " ")
}

func demo(t *testing.T) options {
	t.Helper()
	dir := t.TempDir()
	return options{dir: filepath.Join(dir, "demo"), bundle: filepath.Join(dir, "bundle"), driver: driverNone, seed: seedOpenStack, yes: true}
}

func (o options) try(t *testing.T, r *recorder, in string) (string, error) {
	t.Helper()
	var said bytes.Buffer
	err := o.run(t.Context(), ui.Streams{In: strings.NewReader(in), Out: &said, Err: &said}, r.run)
	return said.String(), err
}

// TestADemoContinues after each step that failed, and the second run is the same
// but for the environment file, which is the operator's.
func TestADemoContinues(t *testing.T) {
	t.Parallel()
	o, r := demo(t), &recorder{}
	for _, failing := range []string{"sandbox", "init"} {
		r.fail = failing
		if _, err := o.try(t, r, ""); err == nil {
			t.Errorf("%s failed, and the demo did not", failing)
		}
		if _, err := os.Stat(filepath.Join(o.dir, "slipway.yaml")); err == nil {
			t.Errorf("after %s, the environment file: %v", failing, err)
		}
	}
	said, err := o.try(t, r, "")
	if err != nil || r.verbs() != "sandbox sandbox init sandbox init sandbox" {
		t.Errorf("%v: %s", err, r.verbs())
	}
	for _, want := range []string{"bundle       not needed", "$ cd " + o.dir + " && slipway sandbox status --dir " + o.cloud(), "slipway demo --down --dir " + o.dir, "Look around in " + o.dir} {
		if !strings.Contains(said, want) {
			t.Errorf("it did not say %q:\n%s", want, said)
		}
	}
	for name, want := range map[string]string{"clouds.yaml": filepath.Join(o.dir, "cloud/clouds.yaml"), "bundle": o.bundle} {
		if got, err := os.Readlink(filepath.Join(o.dir, name)); got != want {
			t.Errorf("%s leads to %s, %v", name, got, err)
		}
	}
}

// TestOnlyADemoIsDeleted, after a yes.
func TestOnlyADemoIsDeleted(t *testing.T) {
	t.Parallel()
	o, r := demo(t), &recorder{}
	if _, err := o.try(t, r, ""); err != nil {
		t.Fatal(err)
	}
	o.down, o.yes = true, false
	if _, err := o.try(t, r, "no\n"); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("not confirmed: %v", err)
	}
	r.fail = "sandbox"
	if _, err := o.try(t, r, "yes\n"); err == nil || !o.isDemo() {
		t.Errorf("the sandbox was not deleted, but the folder: %v", err)
	}
	said, err := o.try(t, r, "y\n")
	if _, gone := os.Stat(o.dir); err != nil || gone == nil || !slices.Contains(r.ran, "sandbox reset --dir "+o.cloud()) {
		t.Errorf("%v %v\n%s", err, r.ran, said)
	}
	if said, err := o.try(t, r, ""); err != nil || !strings.Contains(said, "There is no demo") {
		t.Errorf("the second time: %v\n%s", err, said)
	}
	o.dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(o.dir, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := o.try(t, r, "yes\n"); err == nil || !strings.Contains(err.Error(), "this folder is no demo") {
		t.Errorf("another folder: %v", err)
	}
	o.down = false
	if _, err := o.try(t, r, ""); err == nil || !strings.Contains(err.Error(), "not empty, and no demo") {
		t.Errorf("a demo in another folder: %v", err)
	}
}

// TestWhereTheBundleComesFrom is asked first where it must be built.
func TestWhereTheBundleComesFrom(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a demo with machines is refused without root")
	}
	o, r := demo(t), &recorder{}
	o.driver, o.yes, o.own = driverContainer, false, true
	said, err := o.try(t, r, "n\n")
	if err == nil || len(r.ran) > 0 || !strings.Contains(said, "building takes about") {
		t.Errorf("not confirmed: %v, %v\n%s", err, r.ran, said)
	}
	if _, err := o.try(t, r, "y\n"); err != nil || r.ran[0] != "bundle ensure --dir "+o.bundle+" --own" {
		t.Errorf("built: %v, %v", err, r.ran)
	}
	if r.verbs() != "bundle sandbox init up status" {
		t.Error(r.verbs())
	}
	r.ran = nil
	o.from, o.keys = "oci://registry.example.org/bundle:v1", []string{"bundle.pub"}
	if _, err := o.try(t, r, ""); err != nil || r.ran[0] != "bundle pull oci://registry.example.org/bundle:v1 --dir "+o.bundle+" --key bundle.pub" {
		t.Errorf("pulled: %v, %v", err, r.ran)
	}
}

// TestTheSeedOnThisMachine is in the environment file.
func TestTheSeedOnThisMachine(t *testing.T) {
	t.Parallel()
	o, r := demo(t), &recorder{}
	o.seed = seedKind
	if _, err := o.try(t, r, ""); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(o.dir, "slipway.yaml"))
	if err != nil || !strings.Contains(string(text), "  seed:\n    provider: kind\n    network:\n      cidr: 192.168.100.0/24\n  # More.\n  bundle:") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestSizesFollowTheMachine, and what is asked for goes first.
func TestSizesFollowTheMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked int
		want  int
	}{{0, 3}, {1, 1}, {3, 3}} {
		o := demo(t)
		o.controlPlanes = c.asked
		e, err := o.estimate()
		want := c.want
		if c.asked == 0 && e.memory < enough {
			want = 1
		}
		if err != nil || e.controlPlanes != want || e.memory == 0 {
			t.Errorf("asked for %d: %+v, %v", c.asked, e, err)
		}
	}
	var said bytes.Buffer
	estimate{cpus: 2, memory: 4 << 30, controlPlanes: 3, machines: true}.print(&said)
	if !strings.Contains(said.String(), "less memory than that") || !strings.Contains(said.String(), "3 of a control plane") {
		t.Error(said.String())
	}
	said.Reset()
	estimate{cpus: 2, memory: 12 << 30, controlPlanes: 1, machines: true, virtual: true}.print(&said)
	if !strings.Contains(said.String(), "16.0 GiB of memory") || !strings.Contains(said.String(), "less memory than that") || !strings.Contains(said.String(), "emulated") {
		t.Error(said.String())
	}
}

// TestTheEstimateFollowsWhatIsMissing, not how many items that is.
func TestTheEstimateFollowsWhatIsMissing(t *testing.T) {
	t.Parallel()
	o := demo(t)
	o.driver = driverContainer
	e, err := o.estimate()
	lacks, _ := missing(o.bundle)
	if err != nil || len(lacks) < 50 {
		t.Fatal(lacks, err)
	}
	var said bytes.Buffer
	e.print(&said)
	if want := fmt.Sprintf("about %.0f minutes", source.Duration(lacks, e.cpus).Minutes()); !e.empty || !strings.Contains(said.String(), want) {
		t.Errorf("no %q in\n%s", want, said.String())
	}
}

// TestAnItemThatIsThereIsNotBuilt.
func TestAnItemThatIsThereIsNotBuilt(t *testing.T) {
	t.Parallel()
	o := demo(t)
	folder, err := bundle.Create(o.bundle, "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	digest, err := folder.Put(t.Context(), strings.NewReader("it"))
	if err != nil {
		t.Fatal(err)
	}
	all := component.All()
	there := bundle.Item{Name: all[0].Name, Kind: bundle.Binary, Version: "v1", Source: "here", License: "MIT", Size: digest.Size, SHA256: digest.SHA256, Path: "bin/it"}
	if err := folder.Record(there); err != nil {
		t.Fatal(err)
	}
	lacks, err := missing(o.bundle)
	if err != nil || len(lacks) != len(all)-1 || slices.Contains(lacks, there.Name) {
		t.Errorf("%d of %d are missing, %s among them: %v (%v)", len(lacks), len(all), there.Name, slices.Contains(lacks, there.Name), err)
	}
}

// TestMistakesAreToldAtOnce.
func TestMistakesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	o := demo(t)
	o.controlPlanes, o.unsigned = 2, true
	_, err := o.try(t, &recorder{}, "")
	for _, want := range []string{"2 is not 1 or 3", "they are for a bundle of --from"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v has no %q", err, want)
		}
	}
	if _, gone := os.Stat(o.dir); gone == nil {
		t.Error("a folder was made")
	}
}

// TestAChildThatFails passes its exit code on; one that is interrupted ends.
func TestAChildThatFails(t *testing.T) {
	t.Parallel()
	do := child(ui.Streams{Out: io.Discard, Err: io.Discard})
	if err := do(t.Context(), "", "-test.run", "^$"); err != nil {
		t.Errorf("a child that works: %v", err)
	}
	if err := do(t.Context(), "", "-no-such-flag"); err == nil || fault.ExitCode(err) != 2 || !strings.Contains(fmt.Sprint(fault.Remedy(err)), "continues") {
		t.Errorf("%v, %d", err, fault.ExitCode(err))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	if err := do(ctx, "", "-test.run", "^$"); !errors.Is(err, fault.ErrInterrupted) {
		t.Errorf("%v", err)
	}
}

// TestADemoHasItsOwnCloud in a shell that selects another one.
func TestADemoHasItsOwnCloud(t *testing.T) {
	t.Parallel()
	shell := []string{"HOME=/root", "OS_CLOUD=work", "OS_CLIENT_CONFIG_FILE=/etc/openstack/clouds.yaml", "OS_AUTH_URL=https://keystone.example.org", "PATH=/bin"}
	if got := ownCloud(shell); !slices.Equal(got, []string{"HOME=/root", "PATH=/bin"}) || len(shell) != 5 {
		t.Errorf("its commands have %q", got)
	}
}
