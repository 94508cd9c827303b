package ansible_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// recorded is what the stand-in of the program prints.
func recorded(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata/inventory", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRecordedAnswersAreTheProgramsOwn keeps what the stand-in prints as the program prints
// it: a field that is renamed in the program has no place here.
func TestRecordedAnswersAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	var status struct {
		Environment, Cloud string
		Resources          []openstack.Resource
		SSH                target.Access `json:"ssh"`
		Seed               []map[string]any
		Clusters           []struct {
			On string
			clusterapi.Report
		}
	}
	var clusters []workload.Summary
	for name, into := range map[string]any{"status.json": &status, "clusters.json": &clusters} {
		text, err := os.ReadFile(recorded(t, name))
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(status.Clusters) != 5 || len(clusters) != 3 {
		t.Errorf("%d and %d clusters", len(status.Clusters), len(clusters))
	}
}

// listing is what ansible-inventory --list prints.
type listing struct {
	vars map[string]map[string]any
	// raw are vars with Ansible's marks of what is no template.
	raw    map[string]map[string]any
	groups map[string][]string
}

// inventory writes an inventory file and lists it.
func (s *site) inventory(text string) (listing, string, error) {
	s.t.Helper()
	s.write("site/prod.slipway_inventory.yml", "plugin: slipway.cloud.environment\nexecutable: ../bin/stand-in\n"+text, 0o600)
	out, err := s.run("ansible-inventory", "-i", s.path("site/prod.slipway_inventory.yml"), "--list")
	var raw map[string]json.RawMessage
	if err != nil {
		return listing{}, out, err
	}
	var meta struct{ Hostvars map[string]map[string]any }
	if json.Unmarshal([]byte(out), &raw) != nil || json.Unmarshal(raw["_meta"], &meta) != nil {
		s.t.Fatalf("no listing: %s", out)
	}
	l := listing{vars: map[string]map[string]any{}, raw: meta.Hostvars, groups: map[string][]string{}}
	for name, vars := range meta.Hostvars {
		l.vars[name] = trusted(vars).(map[string]any)
	}
	for name, one := range raw {
		var group struct{ Hosts, Children []string }
		if err := json.Unmarshal(one, &group); err == nil {
			l.groups[name] = append(group.Hosts, group.Children...)
			slices.Sort(l.groups[name])
		}
	}
	return l, out, nil
}

// trusted is a value without the marks. Releases from 2.19 on mark every string of a plugin;
// those before mark what the plugin says.
func trusted(value any) any {
	vars, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if text, marked := vars["__ansible_unsafe"]; marked && len(vars) == 1 {
		return text
	}
	all := map[string]any{}
	for name, one := range vars {
		all[name] = trusted(one)
	}
	return all
}

// standIn writes a program that answers with the recorded JSON, and returns the calls.
func (s *site) standIn(t *testing.T) func() string {
	s.write("bin/stand-in", "#!/bin/sh\necho \"$PWD $OS_CLOUD $OS_CLIENT_CONFIG_FILE: $*\" >> "+s.path("calls")+"\ncase \"$*\" in\n\"status \"*) cat "+
		recorded(t, "status.json")+" ;;\n\"cluster list \"*) cat "+recorded(t, "clusters.json")+" ;;\nesac\n", 0o755)
	return func() string {
		text, _ := os.ReadFile(s.path("calls"))
		_ = os.Remove(s.path("calls"))
		return strings.ReplaceAll(string(text), s.dir, "DIR")
	}
}

// TestAnsibleInventory lists an environment with a moved management cluster, clusters of
// operators and of a tenant, and machines that share a name.
func TestAnsibleInventory(t *testing.T) { onEach(t, testAnsibleInventory) }

func testAnsibleInventory(t *testing.T, s *site) {
	calls := s.standIn(t)
	l, out, err := s.inventory(`files: [a.yaml]
env: prod
os_cloud: mine
clouds_file: clouds.yaml
keyed_groups: [{key: slipway_labels, prefix: label}, {key: slipway_project_id, prefix: project}]
groups: {broken: not slipway_ready}
compose: {short: slipway_node_group | upper}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := calls(), "DIR/site mine DIR/site/clouds.yaml: status --file a.yaml --env prod -o json\nDIR/site mine DIR/site/clouds.yaml: cluster list --file a.yaml --env prod -o json\n"; got != want {
		t.Errorf("called\n%s", got)
	}
	for group, want := range map[string][]string{
		"slipway_seed":          {"prod-seed"},
		"slipway_control_plane": {"mall.twin", "prod-control-plane-x7k2m", "shop.twin"},
		"slipway_workers":       {"prod-md-0-abcde", "web-x1-default-worker-9"},
		"slipway_nodes":         {"slipway_control_plane", "slipway_workers"},
		"slipway_management":    {"prod-control-plane-x7k2m", "prod-md-0-abcde"}, "slipway_cluster_prod": {"prod-control-plane-x7k2m", "prod-md-0-abcde"},
		"slipway_workload":       {"mall.twin", "shop.twin", "web-x1-default-worker-9"},
		"slipway_cluster_web_x1": {"web-x1-default-worker-9"}, "label_zone_north": {"web-x1-default-worker-9"}, "project_p1": {"web-x1-default-worker-9"}, "broken": {"web-x1-default-worker-9"},
		"slipway_cluster_mall_shop": {"mall.twin"}, "slipway_cluster_shop_shop": {"shop.twin"},
	} {
		if !reflect.DeepEqual(l.groups[group], want) {
			t.Errorf("%s: %v, want %v", group, l.groups[group], want)
		}
	}
	const key = "/srv/prod/.slipway/keys/prod-ssh-key.pem"
	want := map[string]any{"ansible_host": "10.6.0.12", "ansible_user": "debian", "ansible_ssh_private_key_file": key, "short": "MD-0", "slipway_cluster": "prod", "slipway_environment": "prod",
		"slipway_labels":  map[string]any{"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/deployment-name": "prod-md-0"},
		"slipway_machine": "prod-md-0-abcde", "slipway_made_by": "environment", "slipway_namespace": "default", "slipway_node_group": "md-0", "slipway_ready": true, "slipway_role": "worker",
		"slipway_server_id": "5d9b4a0e-6a1c-4f0b-8a44-3a7a1f5b6c05", "slipway_state": "Running", "slipway_version": "v1.34.4",
		"ansible_ssh_common_args": "-o StrictHostKeyChecking=accept-new -o HostKeyAlias=5d9b4a0e-6a1c-4f0b-8a44-3a7a1f5b6c05 -o 'ProxyCommand=env -C " + s.path("site") + " " + s.path("bin/stand-in") +
			" ssh --file a.yaml --env prod --forward %h:%p'"}
	if got := l.vars["prod-md-0-abcde"]; !reflect.DeepEqual(got, want) {
		t.Errorf("a worker:\n%v, want\n%v", got, want)
	}
	tenant := l.vars["web-x1-default-worker-9"]
	if tenant["ansible_ssh_private_key_file"] != nil || tenant["slipway_magnum_uuid"] != "1f9c1dd4-7d0c-4bd2-bd3f-5f2f1d0a7c11" || tenant["slipway_project_id"] != "p1" || tenant["slipway_made_by"] != "magnum" {
		t.Errorf("a tenant's: %v", tenant)
	}
	name := l.raw["web-x1-default-worker-9"]["slipway_magnum_name"]
	if marked, unsafe := name.(map[string]any); !unsafe || marked["__ansible_unsafe"] != "{{ lookup('pipe', 'id') }}" {
		t.Errorf("a template of a tenant is one of ours: %v", name)
	}
	if l.vars["shop.twin"]["ansible_ssh_private_key_file"] != key || l.vars["mall.twin"]["ansible_ssh_private_key_file"] != nil {
		t.Errorf("keys: %v, %v", l.vars["shop.twin"], l.vars["mall.twin"])
	}
	if len(l.vars) != 6 || strings.Contains(out, "prod-md-0-starts") || strings.Contains(out, "control-plane-old") || strings.Contains(out, "PRIVATE KEY") {
		t.Errorf("there is too much: %s", out)
	}
	for pattern, want := range map[string]int{"[prod]": 3, "['shop/*']": 2, "[1f9c1dd4-7d0c-4bd2-bd3f-5f2f1d0a7c11]": 2, "[shop]": 3, "[nobody]": 1} {
		if l, _, err := s.inventory("clusters: " + pattern + "\n"); err != nil || len(l.vars) != want {
			t.Errorf("clusters %s: %d hosts, %v", pattern, len(l.vars), err)
		}
	}
}

// TestAnsibleInventoryCache calls the program once until the cache is flushed, and keeps
// nothing secret.
func TestAnsibleInventoryCache(t *testing.T) { onEach(t, testAnsibleInventoryCache) }

func testAnsibleInventoryCache(t *testing.T, s *site) {
	calls := s.standIn(t)
	cached := "cache: true\ncache_plugin: jsonfile\ncache_connection: " + s.path("cache") + "\n"
	var hosts []int
	for range 2 {
		l, _, err := s.inventory(cached)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, len(l.vars), strings.Count(calls(), "\n"))
	}
	s.write("all.yml", "- hosts: all\n  gather_facts: false\n  tasks: []\n", 0o600)
	out, err := s.run("ansible-playbook", "-i", s.path("site/prod.slipway_inventory.yml"), "--list-hosts", "--flush-cache", s.path("all.yml"))
	if err != nil || !strings.Contains(out, "hosts (6)") {
		t.Errorf("flushed: %s, %v", out, err)
	}
	hosts = append(hosts, strings.Count(calls(), "\n"))
	if want := []int{6, 2, 6, 0, 2}; !slices.Equal(hosts, want) {
		t.Errorf("hosts and calls %v, want %v", hosts, want)
	}
	files, _ := filepath.Glob(s.path("cache/*"))
	if len(files) != 1 {
		t.Fatalf("cached: %v", files)
	}
	if text, err := os.ReadFile(files[0]); err != nil || !bytes.Contains(text, []byte("prod-seed")) || bytes.Contains(text, []byte("PRIVATE KEY")) {
		t.Errorf("cached: %s (%v)", text, err)
	}
}

// TestAnsibleInventoryFaults tells each fault with what to do.
func TestAnsibleInventoryFaults(t *testing.T) { onEach(t, testAnsibleInventoryFaults) }

func testAnsibleInventoryFaults(t *testing.T, s *site) {
	s.env = append(s.env, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true")
	empty := `{"environment": "prod", "cloud": "c", "resources": []}`
	unreachable := `{"environment": "prod", "cloud": "c", "resources": [{"type": "server", "id": "1", "name": "prod-seed", "step": "seed", "state": "SHELVED"}], "unreachable": "the seed is shelved; wake it with slipway seed wake"}`
	for name, c := range map[string]struct {
		program, options string
		want             []string
		hosts            int // -1 is a failure
	}{
		"an error of the program": {"printf 'error: cloud prod: token expired\\n  fix: log in again\\nerror: b\\n' >&2; exit 1", "", []string{"slipway status ended with code 1: cloud prod: token expired. Fix: log in again; b"}, -1},
		"no words":                {"exit 9", "", []string{"ended with code 9: it said nothing"}, -1},
		"no JSON":                 {"echo hello", "", []string{"printed no JSON", "Fix: "}, -1},
		"too slow":                {"exec sleep 20", "timeout: 1\n", []string{"did not end in 1 s", "longer timeout"}, -1},
		"no folder":               {"echo '" + empty + "'", "chdir: absent\n", []string{"cannot be run in " + s.path("site/absent"), "Fix: install slipway"}, -1},
		"an unknown option":       {"echo '" + empty + "'", "clusters: {a: b}\n", []string{"clusters"}, -1},
		"no environment":          {"echo '" + empty + "'", "", []string{}, 0},
		"a shelved seed":          {"echo '" + unreachable + "'", "", []string{}, 0},
	} {
		s.write("bin/stand-in", "#!/bin/sh\n"+c.program+"\n", 0o755)
		l, out, err := s.inventory(c.options)
		if c.hosts >= 0 && (err != nil || len(l.vars) != c.hosts) || c.hosts < 0 && err == nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want) {
				t.Errorf("%s: %v, without %q", name, err, want)
			}
		}
	}
	s.write("site/slipway.yaml", "plugin: slipway.cloud.environment\n", 0o600)
	if out, err := s.run("ansible-inventory", "-i", s.path("site/slipway.yaml"), "--list"); err == nil {
		t.Errorf("an environment file is taken for an inventory: %s", out)
	}
}
