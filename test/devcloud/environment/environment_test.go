package environment

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/devcloud/operator"
)

// TestEnvironmentOnARealOpenStack makes the cloud's part of an environment: what
// it is, that a killed run is gone on with, that the wait for a seed which never
// boots ends with its cause, and that the databases have nothing left of it.
func TestEnvironmentOnARealOpenStack(t *testing.T) {
	p := newProject(t)
	before, ones := p.Counts(), p.Each(one())
	p.Do("preflight")
	plan := p.Do("plan")
	for _, kind := range []string{"Network", "Router", "Subnet", "SecurityGroup", "Port", "FloatingIP", "KeyPair", "Image", "ApplicationCredential", "Volume", "Server"} {
		if !strings.Contains(plan, "openstack "+kind+"\n") {
			t.Errorf("the plan has no %s:\n%s", kind, plan)
		}
	}
	p.KillUp(5 * time.Minute)
	p.waitEnds()
	p.expectOneMore(ones)
	p.Do("down", "--yes")
	for table, rows := range p.Counts() {
		if rows != before[table] {
			t.Errorf("down left rows: %s has %s, not %s", table, rows, before[table])
		}
	}
}

// waitEnds runs up again, until it waits for the seed. Nova's fake driver boots
// nothing, so that the server is stopped then, as one that fails to boot would
// be; up has to see that, end, and name the server.
func (p *project) waitEnds() {
	p.T.Helper()
	cmd := p.Command("up", "--yes", "--progress", "plain")
	said := &operator.Transcript{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() //nolint:errcheck // it has ended, if all goes well
	p.Eventually("the wait for SSH", 8*time.Minute, func() bool { return strings.Contains(said.String(), "waiting for SSH") })
	stopping := p.OpenStack("server", "stop", "real-seed")
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		p.T.Fatalf("two minutes after the server was stopped (%s) up still waits:\n%s", stopping, said)
	}
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		p.T.Errorf("up ended with %d, want 4:\n%s", code, said)
	}
	if text := said.String(); !strings.Contains(text, "server real-seed: it was shut off") {
		p.T.Errorf("up does not say that the server is off:\n%s", said)
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
	p.T.Helper()
	for table, rows := range p.Each(one()) {
		if rows != before[table]+1 {
			p.T.Errorf("%s: %d rows, want one more than %d", table, rows, before[table])
		}
	}
	// Tags and the marks in properties are how what was made is found again.
	if p.Count("neutron.tags standard_attr_id IN (SELECT standard_attr_id FROM networks WHERE project_id = ?)") == "0" {
		p.T.Error("the network has no tags")
	}
}
