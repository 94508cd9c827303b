package environment

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEnvironmentOnARealOpenStack makes the cloud's part of an environment: what
// it is, that a killed run is gone on with, that the wait for a seed which never
// boots ends with its cause, and that the databases have nothing left of it.
func TestEnvironmentOnARealOpenStack(t *testing.T) {
	p := newProject(t)
	before, ones := p.counts(), p.each(one())
	p.do("preflight")
	plan := p.do("plan")
	for _, kind := range []string{"Network", "Router", "Subnet", "SecurityGroup", "Port", "FloatingIP", "KeyPair", "Image", "ApplicationCredential", "Volume", "Server"} {
		if !strings.Contains(plan, "openstack "+kind+"\n") {
			t.Errorf("the plan has no %s:\n%s", kind, plan)
		}
	}
	p.crash()
	p.waitEnds()
	p.expectOneMore(ones)
	p.do("down", "--yes")
	for table, rows := range p.counts() {
		if rows != before[table] {
			t.Errorf("down left rows: %s has %s, not %s", table, rows, before[table])
		}
	}
}

// crash kills the process when the server is there.
func (p *project) crash() {
	p.t.Helper()
	cmd := p.command("up", "--yes", "--progress", "plain")
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	defer cmd.Process.Kill()
	p.eventually("the seed's server", 5*time.Minute, func() bool {
		return p.count("nova.instances project_id = ? AND deleted = 0") == "1"
	})
}

// waitEnds runs up again, until it waits for the seed. Nova's fake driver boots
// nothing, so that the server is stopped then, as one that fails to boot would
// be; up has to see that, end, and name the server.
func (p *project) waitEnds() {
	p.t.Helper()
	cmd := p.command("up", "--yes", "--progress", "plain")
	said := &transcript{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() //nolint:errcheck // it has ended, if all goes well
	p.eventually("the wait for SSH", 8*time.Minute, func() bool { return strings.Contains(said.String(), "waiting for SSH") })
	stopping := p.openstack("server", "stop", "real-seed")
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		p.t.Fatalf("two minutes after the server was stopped (%s) up still waits:\n%s", stopping, said)
	}
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		p.t.Errorf("up ended with %d, want 4:\n%s", code, said)
	}
	if text := said.String(); !strings.Contains(text, "server real-seed: it was shut off") {
		p.t.Errorf("up does not say that the server is off:\n%s", said)
	}
}

// one lists what an environment has one of.
func one() []string {
	return []string{
		"nova.instances project_id = ? AND deleted = 0",
		"nova_api.key_pairs name LIKE 'real-%'",
		"cinder.volumes project_id = ? AND deleted = 0",
		"neutron.networks project_id = ?",
		"neutron.subnets project_id = ?",
		"neutron.routers project_id = ?",
		"neutron.floatingips project_id = ?",
		"neutron.securitygroups project_id = ? AND name <> 'default'",
		"glance.images owner = ? AND deleted = 0 AND status = 'active'",
		"keystone.application_credential project_id = ?",
		"neutron.ports project_id = ? AND device_owner = 'compute:nova'",
		"neutron.ports project_id = ? AND device_owner LIKE 'network:router_%'",
	}
}

// expectOneMore checks that the killed run left nothing beside what the next one
// made. Others may have things in the project, but none of a server's.
func (p *project) expectOneMore(before map[string]int) {
	p.t.Helper()
	for table, rows := range p.each(one()) {
		if rows != before[table]+1 {
			p.t.Errorf("%s: %d rows, want one more than %d", table, rows, before[table])
		}
	}
	// Tags and the marks in properties are how what was made is found again.
	if p.count("neutron.tags standard_attr_id IN (SELECT standard_attr_id FROM networks WHERE project_id = ?)") == "0" {
		p.t.Error("the network has no tags")
	}
}

// openstack runs Debian's client as the environment's user.
func (p *project) openstack(args ...string) string {
	p.t.Helper()
	cmd := p.client(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("openstack %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

func (p *project) client(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), "openstack", args...)
	cmd.Env = append(cmd.Environ(), "OS_CLIENT_CONFIG_FILE="+p.cloud.CloudsYAML(), "OS_CLOUD=devcloud", "PYTHONWARNINGS=ignore")
	return cmd
}

// transcript is the output of a process that goes on.
type transcript struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(text []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.Write(text)
}

func (s *transcript) String() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.String()
}
