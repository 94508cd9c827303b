package ansible_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cli"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine/pulumi"
)

// TestMain lets the test's binary be slipway, which the collection calls, and the engine.
func TestMain(m *testing.M) {
	ctx := context.Background()
	switch filepath.Base(os.Args[0]) {
	case pulumi.Name:
		os.Exit(pulumi.Main(ctx, os.Args[1:], os.Environ()))
	case "slipway":
		streams := ui.SystemStreams()
		os.Exit(int(cli.Report(streams, cli.Run(ctx, streams, os.Args[1:]))))
	}
	os.Exit(m.Run())
}

// site is a control node with the collection, as a user installs it.
type site struct {
	t   *testing.T
	dir string
	env []string
	// release is a folder with another ansible-core than the host's; empty for the host's.
	release string
}

// onEach runs a test with the host's ansible-core and, where SLIPWAY_ANSIBLE names the folder
// that `make ansible` fills, with the one there.
func onEach(t *testing.T, test func(*testing.T, *site)) {
	t.Helper()
	if os.Getenv("SLIPWAY_CLIENTS") == "" {
		t.Skip("it takes a minute of a processor: set SLIPWAY_CLIENTS=1, as make clients-test does")
	}
	t.Run("host", func(t *testing.T) { test(t, newSite(t, "")) })
	if newer := os.Getenv("SLIPWAY_ANSIBLE"); newer != "" {
		t.Run("newer", func(t *testing.T) { test(t, newSite(t, newer)) })
	}
}

func newSite(t *testing.T, release string) *site {
	t.Helper()
	callbacks, err := filepath.Abs("testdata/callback")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: t.TempDir(), release: release}
	s.env = append(os.Environ(), "HOME="+s.dir, "ANSIBLE_COLLECTIONS_PATH="+s.path("collections"), "ANSIBLE_HOME="+s.path(".ansible"), "ANSIBLE_LOCAL_TEMP="+s.path("tmp"),
		"ANSIBLE_NOCOLOR=1", "ANSIBLE_STDOUT_CALLBACK=report", "ANSIBLE_CALLBACK_PLUGINS="+callbacks, "ANSIBLE_LOCALHOST_WARNING=False", "LC_ALL=C.UTF-8", "OS_CLOUD=")
	if release != "" {
		s.env = append(s.env, "PYTHONPATH="+release, "PATH="+filepath.Join(release, "bin")+":"+os.Getenv("PATH"))
		// The host's version would make every task of this one the host's.
		if out, err := s.run("ansible", "--version"); err != nil || !strings.Contains(out, "ansible python module location = "+filepath.Join(release, "ansible")) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if out, err := s.run("ansible-galaxy", "collection", "build", "../../ansible", "--output-path", s.path("out")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archives, err := filepath.Glob(s.path("out/*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("%q (%v)", archives, err)
	}
	if out, err := s.run("ansible-galaxy", "collection", "install", "--offline", archives[0]); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755)
	if err = errors.Join(err, os.WriteFile(s.path(name), []byte(text), mode)); err != nil {
		s.t.Fatal(err)
	}
}

// command is a program of the site's ansible-core, or of the host.
func (s *site) command(program string, args ...string) *exec.Cmd {
	if own := filepath.Join(s.release, "bin", program); s.release != "" && !filepath.IsAbs(program) {
		if _, err := os.Stat(own); err == nil {
			program = own
		}
	}
	cmd := exec.CommandContext(s.t.Context(), program, args...)
	cmd.Env = s.env
	return cmd
}

func (s *site) run(program string, args ...string) (string, error) {
	cmd := s.command(program, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s %q: %w: %s", program, args, err, said.String())
	}
	return out.String(), err
}

// task is the result of a task.
type task struct {
	Name    string
	Changed bool
	Failed  bool
	Skipped bool
	Msg     string
	Reason  string
	RC      int  `json:"rc"`
	Resume  bool `json:"resumable"`
	Errors  []struct{ Message, Fix string }
	Diff    json.RawMessage
	Plan    struct {
		Changes []struct{ Operation, Name string }
	}
	Info   json.RawMessage
	Result json.RawMessage
	// Repair, Found and Will are of slipway_recover.
	Repair      string
	Found, Will []string
	Censored    string
}

// play runs tasks on this machine, and returns what each of them said by its name.
func (s *site) play(tasks string, args ...string) map[string]task {
	s.t.Helper()
	s.write("play.yml", "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n"+tasks, 0o600)
	return s.playbook(append([]string{s.path("play.yml")}, args...)...)
}

func (s *site) playbook(args ...string) map[string]task {
	s.t.Helper()
	out, err := s.run("ansible-playbook", append([]string{"-i", "localhost,", "-e", "ansible_python_interpreter=/usr/bin/python3"}, args...)...)
	var report struct{ Tasks []task }
	if i := strings.Index(out, "{"); i < 0 || json.Unmarshal([]byte(out[i:]), &report) != nil {
		s.t.Fatalf("no report: %v\n%s", err, out)
	}
	all := map[string]task{}
	for _, one := range report.Tasks {
		all[one.Name] = one
	}
	return all
}

// program copies the test's binary to where slipway is, and returns its digest.
func (s *site) program(name string) string {
	s.t.Helper()
	own, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	in, err := os.Open(own)
	if err != nil {
		s.t.Fatal(err)
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	out, err := os.OpenFile(s.path(name), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		s.t.Fatal(err)
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), in)
	if err = errors.Join(err, out.Close()); err != nil {
		s.t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// smallBundle is a bundle with nothing but a k3s that nobody can run.
func (s *site) smallBundle(name string) {
	s.t.Helper()
	s.bundleOf(name, "k3s")
}

func (s *site) bundleOf(name, k3s string) {
	s.t.Helper()
	folder, err := bundle.Create(s.path(name), "linux/amd64")
	if err != nil {
		s.t.Fatal(err)
	}
	digest, err := folder.Put(s.t.Context(), strings.NewReader(k3s))
	if err == nil {
		err = folder.Record(bundle.Item{Name: "k3s", Kind: bundle.Binary, Version: "v1.34.1+k3s1", SHA256: digest.SHA256, Size: digest.Size, Path: "bin/k3s", Source: "test", License: "Apache-2.0"})
	}
	if err := errors.Join(err, folder.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// cloud is a sandbox without machines, with an image for the seed. The image says that k3s
// is in it, because the small bundle has nothing to bring.
func (s *site) cloud() *sandboxtest.Cloud {
	s.t.Helper()
	c := sandboxtest.Start(s.t)
	client := c.Member.Image(s.t)
	image, err := images.Create(s.t.Context(), client, images.CreateOpts{Name: "debian", DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"slipway_version": "v1.34.1+k3s1"}}).Extract()
	if err == nil {
		err = imagedata.Upload(s.t.Context(), client, image.ID, strings.NewReader("image")).ExtractErr()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}
