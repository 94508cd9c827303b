package ansible_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestAnsibleEnvironment runs the role against a cloud: check mode, a run that ends at its
// deadline because no machine boots, mistakes, and the end of it twice.
func TestAnsibleEnvironment(t *testing.T) { onEach(t, testAnsibleEnvironment) }

func testAnsibleEnvironment(t *testing.T, s *site) {
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
	// On a new host the program, and the folder, come with the first run that is no check.
	if none := name(s.play(role(""), "--check", "-e", "slipway_environment_executable="+s.path("bin/none"))); !none.Changed || none.Failed || !strings.Contains(none.Msg, "bin/none is not installed, so there is no plan yet") {
		t.Errorf("check mode without the program: %+v", none)
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
	// The real program has no management cluster in its state, and was given no key.
	lost := s.play("  - name: recover\n    slipway.cloud.slipway_recover: {executable: "+s.path("bin/slipway")+", chdir: "+s.path("prod")+", clouds_file: "+c.CloudsYAML()+"}\n", "--check")["recover"]
	if !lost.Failed || lost.RC != 2 || len(lost.Errors) != 1 || !strings.Contains(lost.Errors[0].Message, "--identity") || lost.Errors[0].Fix == "" {
		t.Errorf("recover: %+v", lost)
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
func TestAnsibleModules(t *testing.T) { onEach(t, testAnsibleModules) }

func testAnsibleModules(t *testing.T, s *site) {
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
func TestAnsibleInstall(t *testing.T) { onEach(t, testAnsibleInstall) }

func testAnsibleInstall(t *testing.T, s *site) {
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
	// Newer bundles, packed in both ways, take the place of those before.
	for name, pack := range map[string][]string{
		"saved":  {s.path("host/slipway"), "bundle", "save", s.path("download/saved.tar"), "--dir", s.path("saved"), "--unsigned"},
		"folder": {"tar", "-C", s.path("folder"), "-cf", s.path("download/folder.tar"), "."},
	} {
		s.bundleOf(name, "k3s of "+name)
		if out, err := s.run(pack[0], pack[1:]...); err != nil {
			t.Fatal(out, err)
		}
		if archive, err = os.ReadFile(s.path("download/" + name + ".tar")); err != nil {
			t.Fatal(err)
		}
		sum = sha256.Sum256(archive)
		if names := failed(s.play(role(digest, "slipway_program_src: "+s.path("download/slipway"), "slipway_bundle_src: "+s.path("download/"+name+".tar")))); len(names) > 0 {
			t.Errorf("%s: %q", name, names)
		}
		if text, err := os.ReadFile(s.path("host/bundle/bin/k3s")); err != nil || string(text) != "k3s of "+name {
			t.Errorf("%s: %q (%v)", name, text, err)
		}
	}
}

// documented reads the documentation of plugins as Ansible does. The options that all share
// come from the fragment.
func (s *site) documented(kind string, names ...string) {
	s.t.Helper()
	for _, name := range names {
		out, err := s.run("ansible-doc", "-t", kind, "--json", "slipway.cloud."+name)
		var found map[string]struct {
			Doc struct {
				Description []string
				Options     map[string]struct{ Description any }
			}
		}
		if err != nil || json.Unmarshal([]byte(out), &found) != nil {
			s.t.Errorf("%v\n%s", err, out)
			continue
		}
		doc := found["slipway.cloud."+name].Doc
		for _, option := range []string{"executable", "chdir", "files", "env", "os_cloud", "clouds_file"} {
			if len(doc.Description) == 0 || doc.Options[option].Description == nil {
				s.t.Errorf("%s %s: option %s is not documented", kind, name, option)
			}
		}
	}
}

// TestAnsibleSanity runs what of ansible-test works without network, and ansible-lint.
func TestAnsibleSanity(t *testing.T) { onEach(t, testAnsibleSanity) }

func testAnsibleSanity(t *testing.T, s *site) {
	for _, playbook := range []string{"slipway.cloud.site", "slipway.cloud.ci"} {
		if out, err := s.run("ansible-playbook", "--syntax-check", "-i", "localhost,", playbook); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	s.documented("module", "slipway_environment", "slipway_cluster", "slipway_info", "slipway_recover")
	s.documented("inventory", "environment")
	sanity := []string{"sanity", "--color", "no", "--python", "3.11"}
	for _, downloads := range []string{"ansible-doc", "import", "pep8", "pylint", "runtime-metadata", "validate-modules", "yamllint"} {
		sanity = append(sanity, "--skip-test", downloads) // they install packages of Python
	}
	cmd := s.command("ansible-test", sanity...)
	cmd.Dir = s.path("collections/ansible_collections/slipway/cloud")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "Running sanity test") < 15 {
		t.Errorf("ansible-test: %v\n%s", err, out)
	}
	if s.release != "" {
		return // the host's ansible-lint goes with the host's ansible-core
	}
	lint := s.command("ansible-lint", "--offline", "--profile", "production", "-q", ".")
	lint.Dir = cmd.Dir
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("ansible-lint: %v\n%s", err, out)
	}
}
