package compute_test

import (
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// A server that is off stays off when it is resized, and waits for the word of its owner
// for as long as that takes, also over a restart.
func TestResizeOfAServerThatIsOff(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	must(servers.Stop(t.Context(), client, s.ID).ExtractErr())
	await(t, client, s.ID, "SHUTOFF")
	must(servers.Resize(t.Context(), client, s.ID, servers.ResizeOpts{FlavorRef: "2"}).ExtractErr())
	await(t, client, s.ID, "VERIFY_RESIZE")
	must(cloud.Env.Store.Update(func(tx *store.Tx) error { // it is looked at again
		cloud.Env.Model.Compute.Servers.Change(tx, s.ID, func(*model.Server) {})
		return nil
	}))
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		now, err := servers.Get(t.Context(), client, s.ID).Extract()
		if err != nil || now.Status != "VERIFY_RESIZE" {
			t.Fatalf("it is %v, %v", now, err)
		}
	}
	cloud.Restart(t)
	client = compute(t, cloud.Member)
	must(servers.ConfirmResize(t.Context(), client, s.ID).ExtractErr())
	await(t, client, s.ID, "SHUTOFF")
	if state, err := d.State(t.Context(), s.ID); state != machine.Stopped || err != nil {
		t.Errorf("the machine is %s, %v", state, err)
	}
}
