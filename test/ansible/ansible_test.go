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
	"slices"
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
		os.Exit(pulumi.Main(ctx, os.Args[1:]))
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
}

func newSite(t *testing.T) *site {
	t.Helper()
	if os.Getenv("SLIPWAY_CLIENTS") == "" {
		t.Skip("it takes a minute of a processor: set SLIPWAY_CLIENTS=1, as make e2e does")
	}
	callbacks, err := filepath.Abs("testdata/callback")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: t.TempDir()}
	s.env = append(os.Environ(), "HOME="+s.dir, "ANSIBLE_COLLECTIONS_PATH="+s.path("collections"), "ANSIBLE_HOME="+s.path(".ansible"), "ANSIBLE_LOCAL_TEMP="+s.path("tmp"),
		"ANSIBLE_NOCOLOR=1", "ANSIBLE_STDOUT_CALLBACK=report", "ANSIBLE_CALLBACK_PLUGINS="+callbacks, "ANSIBLE_LOCALHOST_WARNING=False", "LC_ALL=C.UTF-8", "OS_CLOUD=")
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

func (s *site) run(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), program, args...)
	cmd.Env = s.env
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
	Info     json.RawMessage
	Result   json.RawMessage
	Censored string
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
	folder, err := bundle.Create(s.path(name), "linux/amd64")
	if err != nil {
		s.t.Fatal(err)
	}
	digest, err := folder.Put(s.t.Context(), strings.NewReader("k3s"))
	if err == nil {
		err = folder.Record(bundle.Item{Name: "k3s", Kind: bundle.Binary, Version: "v1.34.1+k3s1", SHA256: digest.SHA256, Size: digest.Size, Path: "bin/k3s", Source: "test", License: "Apache-2.0"})
	}
	if err := errors.Join(err, folder.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// cloud is a sandbox without machines, with an image for the seed.
func (s *site) cloud() *sandboxtest.Cloud {
	s.t.Helper()
	c := sandboxtest.Start(s.t)
	client := c.Member.Image(s.t)
	image, err := images.Create(s.t.Context(), client, images.CreateOpts{Name: "debian", DiskFormat: "raw", ContainerFormat: "bare"}).Extract()
	if err == nil {
		err = imagedata.Upload(s.t.Context(), client, image.ID, strings.NewReader("image")).ExtractErr()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// TestAnsibleEnvironment runs the role against a cloud: check mode, a run that ends at its
// deadline because no machine boots, mistakes, and the end of it twice.
func TestAnsibleEnvironment(t *testing.T) {
	s := newSite(t)
	c := s.cloud()
	s.program("bin/slipway")
	s.smallBundle("prod/bundle")
	role := func(more string) string {
		return `  - ansible.builtin.include_role: {name: slipway.cloud.environment}
    vars:
      slipway_environment_dir: ` + s.path("prod") + `
      slipway_environment_executable: ` + s.path("bin/slipway") + `
      slipway_environment_clouds_file: ` + c.CloudsYAML() + `
      slipway_environment_skip_checks: [bundle]
      slipway_environment: {apiVersion: slipway.sh/v1alpha1, kind: Environment, metadata: {name: prod}, spec: {cloud: sandbox, seed: {image: debian` + more + `}}}
`
	}
	const run = "slipway.cloud.environment : Create, change or delete the environment"
	name := func(all map[string]task) task {
		t.Helper()
		for key, one := range all {
			if key == run || "slipway.cloud.environment : "+key == run {
				return one
			}
		}
		t.Fatalf("the module did not run: %+v", all)
		return task{}
	}
	checked := name(s.play(role(""), "--check", "--diff"))
	creates := slices.ContainsFunc(checked.Plan.Changes, func(ch struct{ Operation, Name string }) bool { return ch.Operation != "create" })
	if !checked.Changed || checked.Failed || creates || len(checked.Plan.Changes) < 10 || !strings.Contains(string(checked.Diff), "prod-network") && !strings.Contains(string(checked.Diff), "network") {
		t.Errorf("check mode: %+v", checked)
	}
	for _, file := range []string{"prod/slipway.yaml", "prod/.slipway-check.yaml", "prod/progress.jsonl"} {
		if _, err := os.Stat(s.path(file)); err == nil {
			t.Errorf("check mode left %s", file)
		}
	}
	if n := s.servers(c); n != 0 {
		t.Errorf("check mode made %d servers", n)
	}
	wrong := name(s.play(role(", flavour: big, floatingIP: {mode: sometimes}")))
	if !wrong.Failed || wrong.Reason != "usage" || wrong.RC != 2 || len(wrong.Errors) != 2 || wrong.Errors[0].Fix == "" || wrong.Resume {
		t.Errorf("two mistakes: %+v", wrong)
	}
	late := name(s.play(role(""), "-e", "slipway_environment_timeout=15s"))
	if !late.Failed || late.RC != 5 || late.Reason != "deadline passed" || !late.Resume {
		t.Errorf("a run that cannot end: %+v", late)
	}
	if n := s.servers(c); n != 1 {
		t.Errorf("%d servers", n)
	}
	if text, err := os.ReadFile(s.path("prod/progress.jsonl")); err != nil || !strings.HasPrefix(string(text), "{") {
		t.Errorf("progress: %.200s (%v)", text, err)
	}
	dry := name(s.play(role(""), "-e", "slipway_environment_state=absent", "--check"))
	if !dry.Changed || dry.Failed || s.servers(c) != 1 {
		t.Errorf("absent in check mode: %+v", dry)
	}
	for i, changed := range []bool{true, false} {
		gone := name(s.play(role(""), "-e", "slipway_environment_state=absent"))
		if gone.Failed || gone.Changed != changed || s.servers(c) != 0 {
			t.Errorf("absent, run %d: %+v", i, gone)
		}
	}
}

// servers counts those of the project.
func (s *site) servers(c *sandboxtest.Cloud) int {
	s.t.Helper()
	var list struct{ Servers []any }
	if _, err := c.Member.Compute(s.t).Get(s.t.Context(), c.Member.Compute(s.t).ServiceURL("servers"), &list, nil); err != nil {
		s.t.Fatal(err)
	}
	return len(list.Servers)
}

// TestAnsibleModules calls the modules with a program that answers as slipway does, also
// what no cloud without machines can answer.
func TestAnsibleModules(t *testing.T) {
	s := newSite(t)
	s.write("slipway", `#!/bin/sh
echo "$OS_CLOUD: $*" >> `+s.path("calls")+`
case "$*" in
plan*) cat `+s.path("plan.json")+` ;;
up*) echo '{"environment": "prod"}' ;;
"cluster list"*) echo '[{"name": "shop", "namespace": "shop"}]' ;;
"cluster create shop"*) echo '{"name": "shop", "change": "no changes"}' ;;
"cluster create new"*) echo '{"name": "new", "change": "created"}' ;;
"cluster delete shop"*) echo '{"name": "shop"}' ;;
preflight*) echo '{"findings": [{"id": "quota"}]}'; exit 3 ;;
version*) echo '{"slipway": "v1"}' ;;
esac
`, 0o755)
	module := func(name, arguments string) task {
		t.Helper()
		all := s.play(fmt.Sprintf("  - name: it\n    slipway.cloud.%s: {executable: %s, os_cloud: mine, %s}\n", name, s.path("slipway"), arguments))
		return all["it"]
	}
	calls := func() string {
		text, _ := os.ReadFile(s.path("calls"))
		_ = os.Remove(s.path("calls"))
		return string(text)
	}
	s.write("plan.json", `{"changes": null, "counts": {}}`, 0o600)
	same := module("slipway_environment", "files: [a.yaml, b.yaml], env: prod")
	if same.Changed || same.Failed || calls() != "mine: plan --file a.yaml --file b.yaml --env prod -o json\nmine: up --file a.yaml --file b.yaml --env prod --yes --progress json -o json\n" {
		t.Errorf("no changes: %+v", same)
	}
	s.write("plan.json", `{"changes": [{"operation": "update", "type": "network", "name": "prod-network", "properties": [{"path": "mtu", "old": 1500, "new": 1400}]}]}`, 0o600)
	if changed := module("slipway_environment", "timeout: 90m, skip_checks: [quota]"); !changed.Changed || !strings.Contains(calls(), "up --skip-check quota --yes --progress json --timeout 90m -o json") {
		t.Errorf("a change: %+v", changed)
	}
	for arguments, want := range map[string]struct {
		changed bool
		call    string
	}{
		"name: shop":                 {false, "cluster create shop --wait ready --timeout 30m --progress json -o json"},
		"name: new, wait: none":      {true, "cluster create new --wait none"},
		"name: shop, state: absent":  {true, "cluster delete shop --yes --timeout 30m --progress json -o json"},
		"name: other, state: absent": {false, "cluster list -o json"},
	} {
		if got := module("slipway_cluster", arguments); got.Failed || got.Changed != want.changed || !strings.Contains(calls(), want.call) {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
	if got := module("slipway_info", "about: preflight"); got.Failed || got.Changed || !strings.Contains(string(got.Info), "quota") {
		t.Errorf("preflight: %+v", got)
	}
	calls()
	if got := module("slipway_info", "about: version, files: [x.yaml]"); got.Failed || calls() != "mine: version -o json\n" {
		t.Errorf("version: %+v", got)
	}
	s.write("slipway", "#!/bin/sh\necho no json\n", 0o755)
	if got := module("slipway_info", "about: status"); !got.Failed || !strings.Contains(got.Msg, "no JSON") {
		t.Errorf("no JSON: %+v", got)
	}
	if got := module("slipway_info", "about: weather"); !got.Failed || !strings.Contains(got.Msg, "status") {
		t.Errorf("a wrong argument: %+v", got)
	}
}

// TestAnsibleInstall installs the real program and a bundle from files, as a site without
// network does. Other bytes than the digest says install nothing.
func TestAnsibleInstall(t *testing.T) {
	s := newSite(t)
	digest := s.program("download/slipway")
	s.smallBundle("small")
	if out, err := s.run("tar", "-C", s.path("small"), "-cf", s.path("download/bundle.tar"), "."); err != nil {
		t.Fatal(out, err)
	}
	archive, err := os.ReadFile(s.path("download/bundle.tar"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive)
	role := func(sha, way, bundleWay string) string {
		return `  - ansible.builtin.include_role: {name: slipway.cloud.slipway}
    vars:
      slipway_program_path: ` + s.path("host/slipway") + `
      ` + way + `
      slipway_program_sha256: "` + sha + `"
      slipway_bundle_path: ` + s.path("host/bundle") + `
      ` + bundleWay + `
      slipway_bundle_sha256: ` + hex.EncodeToString(sum[:]) + "\n"
	}
	s.write("host/keep", "", 0o600)
	failed := func(all map[string]task) (names []string) {
		for name, one := range all {
			if one.Failed {
				names = append(names, name+": "+one.Msg)
			}
		}
		return names
	}
	bySource := role(digest, "slipway_program_src: "+s.path("download/slipway"), "slipway_bundle_src: "+s.path("download/bundle.tar"))
	wrong := strings.Repeat("0", 64)
	if names := failed(s.play(role(wrong, "slipway_program_src: "+s.path("download/slipway"), "slipway_bundle_wanted: false"))); len(names) != 1 || !strings.Contains(names[0], "checksum") {
		t.Errorf("other bytes: %q", names)
	}
	if _, err := os.Stat(s.path("host/slipway")); err == nil {
		t.Error("other bytes were installed")
	}
	if names := failed(s.play(role("", "slipway_program_src: x", "slipway_bundle_wanted: false"))); len(names) != 1 || !strings.Contains(names[0], "slipway_program_sha256") {
		t.Errorf("without a digest: %q", names)
	}
	for i, changed := range []bool{true, false} {
		all := s.play(bySource)
		if names := failed(all); len(names) > 0 {
			t.Fatalf("run %d: %q", i, names)
		}
		any := false
		for _, one := range all {
			any = any || one.Changed
		}
		if any != changed {
			t.Errorf("run %d changed: %v: %+v", i, any, all)
		}
	}
	if _, err := os.Stat(s.path("host/bundle/bundle.yaml")); err != nil {
		t.Error(err)
	}
	if out, err := s.run(s.path("host/slipway"), "version", "-o", "json"); err != nil || !strings.Contains(out, "{") {
		t.Errorf("the installed program: %s (%v)", out, err)
	}
	byURL := role(digest, "slipway_program_url: file://"+s.path("download/slipway"), "slipway_bundle_url: file://"+s.path("download/bundle.tar"))
	if names := failed(s.play(byURL)); len(names) > 0 {
		t.Errorf("by URL: %q", names)
	}
}

// TestAnsibleSanity runs what of ansible-test works without network, and ansible-lint.
func TestAnsibleSanity(t *testing.T) {
	s := newSite(t)
	for _, playbook := range []string{"slipway.cloud.site", "slipway.cloud.ci"} {
		if out, err := s.run("ansible-playbook", "--syntax-check", "-i", "localhost,", playbook); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	for _, module := range []string{"slipway_environment", "slipway_cluster", "slipway_info"} {
		if out, err := s.run("ansible-doc", "-t", "module", "--json", "slipway.cloud."+module); err != nil || !strings.Contains(out, `"description"`) {
			t.Errorf("%v\n%s", err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), "ansible-test", "sanity", "--color", "no", "--test", "compile", "--test", "no-basestring", "--test", "line-endings", "--test", "metaclass-boilerplate",
		"--test", "future-import-boilerplate", "--test", "shebang", "--test", "symlinks", "--test", "empty-init", "--python", "3.11")
	cmd.Dir, cmd.Env = s.path("collections/ansible_collections/slipway/cloud"), s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("ansible-test: %v\n%s", err, out)
	}
	lint := exec.CommandContext(t.Context(), "ansible-lint", "--offline", "--profile", "production", "-q", ".")
	lint.Dir, lint.Env = s.path("collections/ansible_collections/slipway/cloud"), s.env
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("ansible-lint: %v\n%s", err, out)
	}
}
