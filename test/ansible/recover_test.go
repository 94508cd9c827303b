package ansible_test

import (
	"os"
	"strings"
	"testing"
)

// TestAnsibleRecover runs the role with a program that answers as slipway recover does:
// something is lost, nothing is lost, and a repair that ends half way. The key is on the
// host while the program runs, for its owner only, and never in arguments or results.
func TestAnsibleRecover(t *testing.T) { onEach(t, testAnsibleRecover) }

func testAnsibleRecover(t *testing.T, s *site) {
	s.write("slipway", `#!/bin/sh
echo "$PWD $OS_CLIENT_CONFIG_FILE: $*" >> `+s.path("calls")+`
while [ $# -gt 0 ]; do
	if [ "$1" = --identity ]; then stat -c '%a %n' "$2" > `+s.path("key-file")+`; cat "$2" > `+s.path("key-text")+`; fi
	shift
done
cat `+s.path("answer.json")+`
cat `+s.path("said")+` >&2
exit $(cat `+s.path("code")+`)
`, 0o755)
	s.write("prod/slipway.yaml", "", 0o600)
	answer := func(json, said, code string) {
		s.write("answer.json", json, 0o600)
		s.write("said", said, 0o600)
		s.write("code", code, 0o600)
	}
	role := func(more string) string {
		return `  - ansible.builtin.include_role: {name: slipway.cloud.recover}
    vars:
      slipway_recover_dir: ` + s.path("prod") + `
      slipway_recover_executable: ` + s.path("slipway") + `
      slipway_recover_clouds_file: ` + s.path("clouds.yaml") + `
` + more
	}
	const key = "AGE-SECRET-KEY-1HIDDEN"
	withKey := role("      slipway_recover_key: " + key + "\n      slipway_recover_leave: [t/broken]\n      slipway_recover_at: \"2026-03-01T04:00:00Z\"\n")
	run := func(tasks string, args ...string) (task, string) {
		t.Helper()
		_ = os.Remove(s.path("calls"))
		_ = os.Remove(s.path("key-file"))
		all := s.play(tasks, args...)
		calls, _ := os.ReadFile(s.path("calls"))
		file, err := os.ReadFile(s.path("key-file"))
		text, _ := os.ReadFile(s.path("key-text"))
		if mode, path, _ := strings.Cut(strings.TrimSpace(string(file)), " "); err == nil {
			if _, left := os.Stat(path); !os.IsNotExist(left) || mode != "600" || strings.TrimSpace(string(text)) != key {
				t.Errorf("the key was %q with mode %s, and is left: %v", text, mode, left)
			}
			calls = []byte(strings.ReplaceAll(string(calls), path, "KEY"))
		}
		return find(all, "slipway.cloud.recover : Find out what is lost, and repair it"), strings.ReplaceAll(string(calls), s.dir, "DIR")
	}
	lost := `{"environment": "prod", "checks": [], "diagnosis": {"repair": "seed", "found": ["the seed's server is gone"], "will": ["make the seed again"]}}`
	answer(lost, "", "0")
	checked, calls := run(withKey, "--check")
	if !checked.Changed || checked.Failed || checked.Repair != "seed" || len(checked.Found) != 1 || len(checked.Will) != 1 ||
		calls != "DIR/prod DIR/clouds.yaml: recover --at 2026-03-01T04:00:00Z --identity KEY --leave t/broken --dry-run -o json\n" {
		t.Errorf("check mode: %+v\n%s", checked, calls)
	}
	repaired, calls := run(withKey)
	if !repaired.Changed || repaired.Failed || !strings.Contains(calls, " --leave t/broken --yes --progress json -o json\n") {
		t.Errorf("a repair: %+v\n%s", repaired, calls)
	}
	answer(`{"environment": "prod", "checks": [], "diagnosis": {"repair": "nothing", "found": ["all is there"]}}`, "", "0")
	if same, calls := run(role("")); same.Changed || same.Failed || calls != "DIR/prod DIR/clouds.yaml: recover --yes --progress json -o json\n" {
		t.Errorf("nothing is lost: %+v\n%s", same, calls)
	}
	answer(`{"environment": "prod", "checks": [{"id": "machines", "state": "failed"}]}`, "{\"state\": \"done\"}\nerror: check machines: a server is gone\n  fix: look for it\n", "4")
	half, _ := run(withKey)
	if !half.Failed || half.Reason != "partly done" || !half.Resume || len(half.Errors) != 1 || half.Errors[0].Fix != "look for it" || !strings.Contains(string(half.Result), "machines") {
		t.Errorf("a repair that ends half way: %+v", half)
	}
	if text, err := os.ReadFile(s.path("prod/progress.jsonl")); err != nil || string(text) != "{\"state\": \"done\"}\n" {
		t.Errorf("progress: %s (%v)", text, err)
	}
	both := s.play(role("      slipway_recover_key: " + key + "\n      slipway_recover_identity: /key\n"))
	if one := find(both, "slipway.cloud.recover : Check the folder and the key"); !one.Failed || !strings.Contains(one.Msg, "only one of") {
		t.Errorf("two keys: %+v", both)
	}
}

// find is the result of a task, whose name may lack the role's in front.
func find(all map[string]task, name string) task {
	for key, one := range all {
		if key == name || strings.HasSuffix(name, " : "+key) {
			return one
		}
	}
	return task{Failed: true, Msg: "it did not run"}
}
