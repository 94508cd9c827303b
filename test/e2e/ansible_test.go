package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// controlNode is a machine with Ansible and the collection, whose inventory has the site of a
// project that may be up already.
type controlNode struct {
	*project
	dir string
	env []string
}

// control installs the collection as a user does, and writes the inventory.
func (p *project) control() *controlNode {
	p.t.Helper()
	c := &controlNode{project: p, dir: p.t.TempDir()}
	c.env = append(os.Environ(), "HOME="+c.dir, "ANSIBLE_HOME="+filepath.Join(c.dir, "home"), "ANSIBLE_LOCAL_TEMP="+filepath.Join(c.dir, "tmp"),
		"ANSIBLE_COLLECTIONS_PATH="+filepath.Join(c.dir, "collections"), "ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8", "OS_CLOUD=", "OS_CLIENT_CONFIG_FILE="+filepath.Join(p.dir, "clouds.yaml"))
	c.must("ansible-galaxy", "collection", "build", "../../ansible", "--output-path", c.dir)
	archives, err := filepath.Glob(filepath.Join(c.dir, "slipway-cloud-*.tar.gz"))
	if err != nil || len(archives) != 1 {
		p.t.Fatalf("%q (%v)", archives, err)
	}
	c.must("ansible-galaxy", "collection", "install", "--offline", archives[0])
	program, err := os.ReadFile(p.program)
	if err != nil {
		p.t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	c.write("site.yml", fmt.Sprintf(`slipway:
  hosts:
    site: {ansible_connection: local, ansible_python_interpreter: /usr/bin/python3}
  vars:
    slipway_program_src: %s
    slipway_program_sha256: "%s"
    slipway_program_path: %s
    slipway_bundle_wanted: false
    slipway_environment_dir: %s
    slipway_environment_executable: "{{ slipway_program_path }}"
    slipway_environment_clouds_file: %s
`, p.program, hex.EncodeToString(sum[:]), filepath.Join(c.dir, "slipway"), p.folder, filepath.Join(p.dir, "clouds.yaml")))
	return c
}

func (c *controlNode) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *controlNode) run(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), program, args...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *controlNode) must(program string, args ...string) string {
	c.t.Helper()
	out, err := c.run(program, args...)
	if err != nil {
		c.t.Fatalf("%s %q: %v: %s\n%s", program, args, err, failures(out), out[max(0, len(out)-8000):])
	}
	return out
}

// failures are the tasks that failed, in Ansible's words: what CI repeats is the first lines of
// a message.
func failures(out string) string {
	var all []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "ERROR! ") {
			all = append(all, strings.TrimSpace(line[:min(len(line), 2000)]))
		}
	}
	return strings.Join(all, " ")
}

// recap is Ansible's line about a host at the end of a play.
var recap = regexp.MustCompile(`(?m)^site +: ok=(\d+) +changed=(\d+) +unreachable=0 +failed=0 `)

// play runs a playbook of the collection and returns how many tasks changed something.
func (c *controlNode) play(args ...string) (changed int) {
	c.t.Helper()
	out := c.must("ansible-playbook", append([]string{"-i", filepath.Join(c.dir, "site.yml")}, args...)...)
	told := recap.FindStringSubmatch(out)
	if told == nil {
		c.t.Fatalf("ansible-playbook %q tells no end of the play:\n%s", args, out)
	}
	changed, err := strconv.Atoi(told[2])
	if err != nil {
		c.t.Fatal(err)
	}
	if changed > 0 {
		c.said.WriteString(out)
	}
	return changed
}

// installs has Ansible's first run on an environment that is up: the program is new to it.
func (c *controlNode) installs() {
	c.t.Helper()
	before := c.all()
	if c.play("slipway.cloud.site") == 0 {
		c.t.Error("the first run installed no program")
	}
	if after := c.all(); fmt.Sprint(after) != fmt.Sprint(before) {
		c.t.Errorf("there was\n%v\nthere is\n%v", before, after)
	}
}

// runAsASite lets Ansible have the environment that is up, whose program it has installed: a run
// changes nothing. Check mode, the pipeline's playbook and the inventory see the same.
func (c *controlNode) runAsASite() {
	c.t.Helper()
	before := c.all()
	if changed := c.play("slipway.cloud.site"); changed != 0 {
		c.t.Errorf("a further run: changed=%d\n%s", changed, c.said.String())
	}
	if changed := c.play("slipway.cloud.site", "--check", "--diff"); changed != 0 {
		c.t.Errorf("check mode: changed=%d\n%s", changed, c.said.String())
	}
	c.play("slipway.cloud.ci")
	if changed := c.play("slipway.cloud.site", "--check", "-e", "slipway_environment_state=absent"); changed == 0 {
		c.t.Error("in check mode down would delete nothing")
	}
	c.recoverNothing()
	if after := c.all(); fmt.Sprint(after) != fmt.Sprint(before) {
		c.t.Errorf("there was\n%v\nthere is\n%v", before, after)
	}
}

// recoverNothing runs the role that recovers while nothing is lost.
func (c *controlNode) recoverNothing() {
	c.t.Helper()
	c.write("recover.yml", "- hosts: slipway\n  gather_facts: false\n  roles:\n    - role: slipway.cloud.recover\n      slipway_recover_dir: \"{{ slipway_environment_dir }}\"\n"+
		"      slipway_recover_executable: \"{{ slipway_program_path }}\"\n      slipway_recover_clouds_file: \"{{ slipway_environment_clouds_file }}\"\n")
	for _, mode := range [][]string{{"--check"}, nil} {
		if changed := c.play(append(mode, filepath.Join(c.dir, "recover.yml"))...); changed != 0 {
			c.t.Errorf("recover %q: changed=%d\n%s", mode, changed, c.said.String())
		}
	}
}

// reachMachines logs in to every machine of the inventory: the seed, and those of the
// management cluster through it.
func (c *controlNode) reachMachines(machines int) {
	c.t.Helper()
	c.write("demo.slipway_inventory.yml", "plugin: slipway.cloud.environment\nchdir: "+c.folder+"\nexecutable: "+c.program+"\nclouds_file: "+filepath.Join(c.project.dir, "clouds.yaml")+"\nclusters: [demo]\n")
	// The machines have no Python, and the host keeps its list of known hosts.
	out := c.must("ansible", "-i", filepath.Join(c.dir, "demo.slipway_inventory.yml"), "all", "-m", "ansible.builtin.raw", "-a", "echo I am $(cat /etc/hostname)",
		"-e", "ansible_ssh_extra_args='-o UserKnownHostsFile="+filepath.Join(c.dir, "known_hosts")+"'")
	var reached []string
	for line := range strings.Lines(out) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "I am "); found {
			reached = append(reached, name)
		}
	}
	slices.Sort(reached)
	if len(slices.Compact(slices.Clone(reached))) != machines || !slices.Contains(reached, "demo-seed") {
		c.t.Errorf("reached %q, not %d machines\n%s", reached, machines, out)
	}
	known, err := os.ReadFile(filepath.Join(c.dir, "known_hosts"))
	if err != nil || strings.Count(string(known), "\n") < machines-1 {
		c.t.Errorf("known hosts: %v\n%s", err, known)
	}
}

// keepCluster is a cluster that slipway cluster create made: the module makes nothing twice,
// and takes nothing away in check mode.
func (c *controlNode) keepCluster(name, values string) {
	c.t.Helper()
	c.write("values.yaml", values)
	servers := c.servers()
	for state, would := range map[string]bool{"present": false, "absent": true} {
		c.write("cluster.yml", "- hosts: slipway\n  gather_facts: false\n  tasks:\n    - slipway.cloud.slipway_cluster:\n        name: "+name+"\n        chdir: \"{{ slipway_environment_dir }}\"\n"+
			"        executable: "+c.program+"\n        clouds_file: \"{{ slipway_environment_clouds_file }}\"\n        values_files: ["+filepath.Join(c.dir, "values.yaml")+"]\n        wait: control-plane\n        state: "+state+"\n")
		if changed := c.play("--check", filepath.Join(c.dir, "cluster.yml")); (changed > 0) != would {
			c.t.Errorf("%s in check mode: changed=%d", state, changed)
		}
		if !would {
			if changed := c.play(filepath.Join(c.dir, "cluster.yml")); changed != 0 {
				c.t.Errorf("%s: changed=%d\n%s", state, changed, c.said.String())
			}
		}
	}
	if after := c.servers(); fmt.Sprint(after) != fmt.Sprint(servers) {
		c.t.Errorf("servers were %v, are %v", servers, after)
	}
}

// takeDown deletes the environment, and finds nothing the second time.
func (c *controlNode) takeDown() {
	c.t.Helper()
	for run, changed := range []bool{true, false} {
		if n := c.play("slipway.cloud.site", "-e", "slipway_environment_state=absent"); (n > 0) != changed {
			c.t.Errorf("run %d of down: changed=%d\n%s", run, n, c.said.String())
		}
	}
}

// TestAnsibleSite is the life of an environment by Ansible alone; TestManagementClusterAtLength
// does the same with an environment that is up already.
func TestAnsibleSite(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("TestManagementClusterAtLength has the same steps: set SLIPWAY_PROOFS=1")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(managementCluster)
	defer p.tell()
	c := p.control()
	p.timed("up by Ansible", func() { c.play("slipway.cloud.site") })
	p.timed("runs by Ansible", c.runAsASite)
	p.timed("machines by Ansible", func() { c.reachMachines(5) })
	p.timed("down by Ansible", c.takeDown)
	if left := p.ids(); len(left) != 0 {
		t.Errorf("down left %v", left)
	}
}
