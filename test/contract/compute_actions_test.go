package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/secgroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

func TestComputePowerActions(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	reboot := func(how servers.RebootMethod) func() error {
		return func() error {
			return servers.Reboot(t.Context(), n.compute, s.ID, servers.RebootOpts{Type: how}).ExtractErr()
		}
	}
	for _, step := range []struct {
		name, status string
		call         func() error
		power        servers.PowerState
	}{
		{"stop", "SHUTOFF", func() error { return servers.Stop(t.Context(), n.compute, s.ID).ExtractErr() }, servers.SHUTDOWN},
		{"hard reboot when off", "ACTIVE", reboot(servers.HardReboot), servers.RUNNING},
		{"soft reboot", "ACTIVE", reboot(servers.SoftReboot), servers.RUNNING},
		{"pause", "PAUSED", func() error { return servers.Pause(t.Context(), n.compute, s.ID).ExtractErr() }, servers.PAUSED},
		{"unpause", "ACTIVE", func() error { return servers.Unpause(t.Context(), n.compute, s.ID).ExtractErr() }, servers.RUNNING},
		{"suspend", "SUSPENDED", func() error { return servers.Suspend(t.Context(), n.compute, s.ID).ExtractErr() }, servers.SHUTDOWN},
		{"resume", "ACTIVE", func() error { return servers.Resume(t.Context(), n.compute, s.ID).ExtractErr() }, servers.RUNNING},
		{"shelve", "SHELVED_OFFLOADED", func() error { return servers.Shelve(t.Context(), n.compute, s.ID).ExtractErr() }, servers.SHUTDOWN},
		{"unshelve", "ACTIVE", func() error {
			return servers.Unshelve(t.Context(), n.compute, s.ID, servers.UnshelveOpts{}).ExtractErr()
		}, servers.RUNNING},
	} {
		if err := step.call(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if now := n.await(t, s.ID, step.status); now.PowerState != step.power {
			t.Errorf("%s: power state %v", step.name, now.PowerState)
		}
	}
	err := servers.Start(t.Context(), n.compute, s.ID).ExtractErr()
	wantCompute(t, err, 409, "conflictingRequest", "Cannot 'start' instance "+s.ID+" while it is in vm_state active")
	a := raw(t, http.MethodPost, n.compute.ServiceURL("servers", s.ID, "action"), n.compute.TokenID, `{"fly": null}`, nil)
	if a.status != 400 || a.at("badRequest", "message") != "There is no such action: fly" {
		t.Errorf("unknown action: %d %s", a.status, a.text)
	}
}

func TestComputeLock(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	if err := servers.Lock(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if now := n.await(t, s.ID, "ACTIVE"); now.Locked == nil || !*now.Locked {
		t.Error("the server is not locked")
	}
	wantCompute(t, servers.Stop(t.Context(), n.compute, s.ID).ExtractErr(), 409, "conflictingRequest", "Instance "+s.ID+" is locked")
	wantStatus(t, servers.Delete(t.Context(), n.compute, s.ID).ExtractErr(), 409)
	if err := servers.Unlock(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
}

func TestComputeResize(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	small := flavorCalled(t, n.compute, "m1.small")
	resize := func(flavor string) error {
		return servers.Resize(t.Context(), n.compute, s.ID, servers.ResizeOpts{FlavorRef: flavor}).ExtractErr()
	}
	wantCompute(t, resize(n.flavor), 400, "badRequest", "When resizing, instances must change flavor!")
	wantStatus(t, servers.ConfirmResize(t.Context(), n.compute, s.ID).ExtractErr(), 409)
	if err := resize(small); err != nil {
		t.Fatal(err)
	}
	if now := n.await(t, s.ID, "VERIFY_RESIZE"); now.VmState != "resized" || now.Flavor["original_name"] != "m1.small" {
		t.Errorf("resized: %+v", now)
	}
	if err := servers.RevertResize(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if now := n.await(t, s.ID, "ACTIVE"); now.Flavor["original_name"] != "m1.tiny" {
		t.Errorf("reverted: %+v", now.Flavor)
	}
	if err := resize(small); err != nil {
		t.Fatal(err)
	}
	n.await(t, s.ID, "VERIFY_RESIZE")
	if err := servers.ConfirmResize(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if now := n.await(t, s.ID, "ACTIVE"); now.Flavor["original_name"] != "m1.small" {
		t.Errorf("confirmed: %+v", now.Flavor)
	}
}

func TestComputeRebuildAndImage(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	id := must[string](t)(servers.CreateImage(t.Context(), n.compute, s.ID, servers.CreateImageOpts{Name: "snapshot", Metadata: map[string]string{"k": "v"}}).ExtractImageID())
	t.Cleanup(func() { _ = images.Delete(cleanup(t), n.clients.Image(t), id).ExtractErr() })
	eventually(t, "the image is active", func() bool {
		img := must[*images.Image](t)(images.Get(t.Context(), n.clients.Image(t), id).Extract())
		return img.Status == images.ImageStatusActive && img.Name == "snapshot" && img.Properties["k"] == "v"
	})
	n.await(t, s.ID, "ACTIVE")
	rebuilt := must[*servers.Server](t)(servers.Rebuild(t.Context(), n.compute, s.ID, servers.RebuildOpts{Name: "again", ImageRef: id}).Extract())
	if rebuilt.ID != s.ID || rebuilt.AdminPass == "" || rebuilt.Status != "REBUILD" {
		t.Errorf("rebuild answered %+v", rebuilt)
	}
	if now := n.await(t, s.ID, "ACTIVE"); now.Name != "again" || now.Image["id"] != id {
		t.Errorf("rebuilt: %+v", now)
	}
}

func TestComputeConsoleAndGroups(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	if _, err := servers.ShowConsoleOutput(t.Context(), n.compute, s.ID, servers.ShowConsoleOutputOpts{Length: 10}).Extract(); err != nil {
		t.Error(err)
	}
	group := neutronGroup(t, n.clients.Network(t))
	if err := secgroups.AddServer(t.Context(), n.compute, s.ID, group.Name).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if now := n.await(t, s.ID, "ACTIVE"); len(now.SecurityGroups) != 2 {
		t.Errorf("groups %v", now.SecurityGroups)
	}
	if err := secgroups.RemoveServer(t.Context(), n.compute, s.ID, group.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	wantStatus(t, secgroups.AddServer(t.Context(), n.compute, s.ID, "none").ExtractErr(), 404)
}
