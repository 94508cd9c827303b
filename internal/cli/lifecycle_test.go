package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// data runs a command line and reads what it printed as JSON.
func data[T any](t *testing.T, args ...string) (out T) {
	t.Helper()
	code, stdout, stderr := run(t.Context(), args...)
	if code != fault.ExitOK {
		t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, stdout)
	}
	return out
}

type statusData struct {
	Resources []struct{ Type, ID, Name, Step, State string }
	Drift     []any
}

type downData struct {
	DryRun                bool
	Deleted, Left         []struct{ ID string }
	UsedBefore, UsedAfter map[string]int
}

// project is an empty project in a sandbox, with an image, and an environment
// file; the commands find both.
func project(t *testing.T) (cloud *sandboxtest.Cloud, file string) {
	t.Helper()
	cloud = sandboxtest.Start(t)
	client := cloud.Member.Image(t)
	image, err := images.Create(t.Context(), client, images.CreateOpts{Name: "debian", DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"slipway_version": "v1.34.4+k3s1"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := imagedata.Upload(t.Context(), client, image.ID, strings.NewReader("image")).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	clouds, err := os.ReadFile(cloud.CloudsYAML())
	check(t, err)
	addCloud(t, cloudName(t), clouds)
	file = filepath.Join(t.TempDir(), "slipway.yaml")
	text := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\nspec:\n  cloud: " + cloudName(t) + "\n  seed: {image: debian}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	smallBundle(t, filepath.Join(filepath.Dir(file), "bundle"))
	return cloud, file
}

// smallBundle is a bundle with nothing but a k3s that nobody can run.
func smallBundle(t *testing.T, dir string) {
	t.Helper()
	folder, err := bundle.Create(dir, "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	digest, err := folder.Put(t.Context(), strings.NewReader("k3s"))
	if err == nil {
		err = folder.Record(bundle.Item{Name: "k3s", Kind: bundle.Binary, Version: "v1.34.1+k3s1", SHA256: digest.SHA256, Size: digest.Size,
			Path: "bin/k3s", Source: "test", License: "Apache-2.0"})
	}
	if err := errors.Join(err, folder.Close()); err != nil {
		t.Fatal(err)
	}
}

// stream is one that can be read while it is written.
type stream struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *stream) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *stream) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// upToTheSeed runs `up` until the seed's server is there, and interrupts it
// then: there is no machine behind it that could go on.
func upToTheSeed(t *testing.T, file string) (said string) {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	out := &stream{}
	go func() {
		for ctx.Err() == nil && !strings.Contains(out.String(), `"step":"k3s"`) {
			time.Sleep(10 * time.Millisecond)
		}
		interrupt(fault.ErrInterrupted)
	}()
	streams := ui.Streams{In: strings.NewReader(""), Out: out, Err: out}
	code := Report(streams, Run(ctx, streams, []string{"up", "--yes", "-f", file, "--skip-check", "bundle", "--progress", "json"}))
	if code != fault.ExitInterrupted || !strings.Contains(out.String(), `"step":"seed"`) {
		t.Fatalf("up: exit code %d\n%s", code, out)
	}
	return out.String()
}

// proves: F06
// proves: S-04
// proves: S-76
func TestAnEnvironmentByCommands(t *testing.T) {
	t.Parallel()
	cloud, file := project(t)
	foreign, err := networks.Create(t.Context(), cloud.Member.Network(t), networks.CreateOpts{Name: "prod-lookalike"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	empty := data[downData](t, "down", "--dry-run", "-f", file, "-o", "json")

	plan := data[struct{ Changes []struct{ Operation string } }](t, "plan", "-f", file, "--skip-check", "bundle", "-o", "json")
	if len(plan.Changes) != 16 {
		t.Errorf("the plan has %d changes", len(plan.Changes))
	}
	data[statusData](t, "status", "--drift", "-f", file, "-o", "json")
	folder := filepath.Join(filepath.Dir(file), ".slipway")
	if _, err := os.Stat(folder); err == nil {
		t.Error("commands that only read left .slipway")
	}
	if code, _, stderr := run(t.Context(), "up", "-f", file, "--skip-check", "bundle"); code != fault.ExitUsage || !strings.Contains(stderr, "not confirmed") {
		t.Errorf("unconfirmed up: exit code %d\n%s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(folder, "passphrase")); err == nil {
		t.Error("what was not confirmed left a passphrase")
	}
	if said := upToTheSeed(t, file); strings.Contains(said, cloud.Passwords().Demo) {
		t.Error("a password is told")
	}
	status := data[statusData](t, "status", "--drift", "-f", file, "-o", "json")
	if len(status.Resources) != 10 || len(status.Drift) > 0 {
		t.Errorf("status: %+v", status)
	}
	for _, r := range status.Resources {
		if r.Type == "" || r.ID == "" || r.Name == "" || r.State == "" || r.Step == "" {
			t.Errorf("resource %+v", r)
		}
	}
	dry := data[downData](t, "down", "-o", "json", "--dry-run", "-f", file)
	if !dry.DryRun || len(dry.Deleted) != 10 || len(data[statusData](t, "status", "-f", file, "-o", "json").Resources) != 10 {
		t.Errorf("dry run: %+v", dry)
	}
	// The worst case: state lost, seed gone.
	if err := os.RemoveAll(filepath.Join(filepath.Dir(file), ".slipway")); err != nil {
		t.Fatal(err)
	}
	seed := slices.IndexFunc(status.Resources, func(r struct{ Type, ID, Name, Step, State string }) bool { return r.Step == "seed" })
	if err := servers.Delete(t.Context(), cloud.Member.Compute(t), status.Resources[seed].ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	down := data[downData](t, "down", "--yes", "-f", file, "-o", "json", "--progress", "json")
	if len(down.Left) > 0 || !maps.Equal(down.UsedAfter, empty.UsedBefore) {
		t.Errorf("left %v; used %v, before %v", down.Left, down.UsedAfter, empty.UsedBefore)
	}
	if _, err := networks.Get(t.Context(), cloud.Member.Network(t), foreign.ID).Extract(); err != nil {
		t.Errorf("the foreign network: %v", err)
	}
}

func TestStateByCommands(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	upToTheSeed(t, file)
	_, exported, _ := run(t.Context(), "state", "export", "-f", file)
	if !bytes.Contains([]byte(exported), []byte("openstack:Server::seed")) {
		t.Fatalf("exported %s", exported)
	}
	if code, _, stderr := run(t.Context(), "state", "forget", "seed-data", "-f", file); code == fault.ExitOK || !strings.Contains(stderr, "--dependents") {
		t.Errorf("forgetting what others need: exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := run(t.Context(), "state", "forget", "seed", "-f", file); code != fault.ExitOK {
		t.Errorf("forget: %s", stderr)
	}
	before := data[statusData](t, "status", "-f", file, "-o", "json")
	upToTheSeed(t, file)
	if after := data[statusData](t, "status", "-f", file, "-o", "json"); !slices.Equal(before.Resources, after.Resources) {
		t.Errorf("what was forgotten was not found again: %+v", after.Resources)
	}
	saved := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(saved, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t.Context(), "state", "import", saved, "-f", file); code != fault.ExitOK {
		t.Errorf("import: %s", stderr)
	}
	if code, stdout, _ := run(t.Context(), "plan", "-f", file, "--skip-check", "bundle"); code != fault.ExitOK || !strings.Contains(stdout, "3 to create, ") {
		t.Errorf("after the import: %s", stdout)
	}
}

// proves: F35
func TestATimeoutNamesWhatBlocksAndLeavesAStateToGoOnFrom(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	upToTheSeed(t, file)
	before := data[statusData](t, "status", "-f", file, "-o", "json")
	// Nobody answers at the seed's port 22: the run can only end by its time,
	// which on a slow machine must be longer to come as far as there.
	for after := 4 * time.Second; ; after *= 2 {
		code, _, stderr := run(t.Context(), "up", "--yes", "-f", file, "--skip-check", "bundle", "--progress", "plain", "--timeout", after.String())
		if code != fault.ExitDeadline || !strings.Contains(stderr, "not done after "+after.String()) || !strings.Contains(stderr, "fix: "+fault.Resume) {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		if strings.Contains(stderr, "error: k3s: not done after "+after.String()+": running for ") && strings.Contains(stderr, "last seen: waiting for SSH: ") {
			break
		}
		if after > time.Minute {
			t.Fatalf("it does not name k3s and its cause:\n%s", stderr)
		}
	}
	if _, stdout, stderr := run(t.Context(), "plan", "-f", file, "--skip-check", "bundle"); !strings.Contains(stdout, "3 to create, 13 unchanged") {
		t.Errorf("what is left to do: %s%s", stdout, stderr)
	}
	if after := data[statusData](t, "status", "-f", file, "-o", "json"); !slices.Equal(before.Resources, after.Resources) {
		t.Errorf("going on made things anew: %+v", after.Resources)
	}
	if code, _, stderr := run(t.Context(), "down", "--yes", "-f", file, "--timeout", "1ns"); code != fault.ExitDeadline {
		t.Errorf("down in no time: exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := run(t.Context(), "up", "-f", file, "--timeout", "-1s"); code != fault.ExitUsage || !strings.Contains(stderr, "--timeout") {
		t.Errorf("less than nothing: exit code %d\n%s", code, stderr)
	}
	if down := data[downData](t, "down", "--yes", "-f", file, "-o", "json", "--timeout", "10m"); len(down.Left) > 0 {
		t.Errorf("left %v", down.Left)
	}
}
