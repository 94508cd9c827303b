package compute_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// Rescue keeps the server's own disk, and unrescue boots it again.
func TestRescueKeepsTheDisk(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	own := d.last().Image
	if _, err := servers.Rescue(t.Context(), client, s.ID, servers.RescueOpts{RescueImageRef: makeImage(t, cloud)}).Extract(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "RESCUE")
	if d.last().Image == own || !d.did("aside") {
		t.Errorf("it boots %s, its own disk is kept: %t", d.last().Image, d.did("aside"))
	}
	if err := servers.Unrescue(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ACTIVE")
	if d.last().Image != own || !d.did("back") || d.did("delete") {
		t.Errorf("it boots %s, its own disk came back: %t, was deleted: %t", d.last().Image, d.did("back"), d.did("delete"))
	}
}

// A server that could not be rescued boots its own disk at the next hard reboot.
func TestRescueThatFails(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	own := d.last().Image
	d.fail("create", true)
	if _, err := servers.Rescue(t.Context(), client, s.ID, servers.RescueOpts{RescueImageRef: makeImage(t, cloud)}).Extract(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ERROR")
	d.fail("create", false)
	if err := servers.Reboot(t.Context(), client, s.ID, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if now := await(t, client, s.ID, "ACTIVE"); d.last().Image != own || !d.did("back") || now.Fault.Message != "" {
		t.Errorf("it boots %s, its own disk came back: %t, fault %+v", d.last().Image, d.did("back"), now.Fault)
	}
}
