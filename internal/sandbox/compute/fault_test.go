package compute_test

import (
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/instanceactions"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func TestNoValidHost(t *testing.T) {
	t.Parallel()
	cloud := start(t, nil)
	client := compute(t, cloud.Member)
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.NoValidHost, Service: "compute", Resource: "unlucky*"}); err != nil {
		t.Fatal(err)
	}
	image := makeImage(t, cloud)
	s := await(t, client, boot(t, client, "unlucky-1", image).ID, "ERROR")
	if s.Fault.Message != "No valid host was found. There are not enough hosts available." || s.Fault.Code != 500 || s.HostID != "" {
		t.Errorf("fault %+v", s.Fault)
	}
	pages, err := instanceactions.List(client, s.ID, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	actions, err := instanceactions.ExtractInstanceActions(pages)
	if err != nil || len(actions) != 1 || actions[0].Message != "Error" {
		t.Errorf("actions %+v, %v", actions, err)
	}
	for name, err := range map[string]error{
		"hard reboot": servers.Reboot(t.Context(), client, s.ID, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr(),
		"rebuild":     servers.Rebuild(t.Context(), client, s.ID, servers.RebuildOpts{ImageRef: image}).Err,
		"stop":        servers.Stop(t.Context(), client, s.ID).ExtractErr(),
	} {
		if !gophercloud.ResponseCodeIs(err, 409) {
			t.Errorf("%s of a server without a host: %v", name, err)
		}
	}
	await(t, client, boot(t, client, "lucky", image).ID, "ACTIVE")
	if err := servers.Delete(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, client, s.ID)
}

func awaitGone(t *testing.T, client *gophercloud.ServiceClient, id string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := servers.Get(t.Context(), client, id).Extract(); gophercloud.ResponseCodeIs(err, 404) {
			return
		}
	}
	t.Fatalf("server %s is still there", id)
}

func TestMachineThatCannotBeMade(t *testing.T) {
	t.Parallel()
	d := newDriver()
	d.fail("create", true)
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ERROR")
	want := "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance " + s.ID + "."
	if s.Fault.Message != want || s.Fault.Details != "" {
		t.Errorf("its owner sees %+v", s.Fault)
	}
	if seen := await(t, compute(t, cloud.Admin), s.ID, "ERROR"); seen.Fault.Details != errDriver.Error() {
		t.Errorf("the administrator sees %+v", seen.Fault)
	}
}

func TestMachineThatDoesNotStop(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	d.fail("stop", true)
	if err := servers.Stop(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ERROR")
	d.fail("stop", false)
	if err := servers.Reboot(t.Context(), client, s.ID, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if now := await(t, client, s.ID, "ACTIVE"); now.Fault.Message != "" {
		t.Errorf("fault after recovery: %+v", now.Fault)
	}
}

func TestDeleteIsRetried(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	d.fail("delete", true)
	if err := servers.Delete(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	for !d.did("delete") {
		time.Sleep(time.Millisecond)
	}
	if now, err := servers.Get(t.Context(), client, s.ID).Extract(); err != nil || now.TaskState != "deleting" {
		t.Errorf("a server whose machine is still there: %+v, %v", now, err)
	}
	d.fail("delete", false)
	awaitGone(t, client, s.ID)
}

// A server that is deleted while it is made goes, and its late result with it.
func TestDeleteWhileBuilding(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d, func(o *sandbox.Options) { o.Factor = 0.2 })
	client := compute(t, cloud.Member)
	s := boot(t, client, "a", makeImage(t, cloud))
	if now, err := servers.Get(t.Context(), client, s.ID).Extract(); err != nil || now.Status != "BUILD" {
		t.Fatalf("status %v, %v", now, err)
	}
	if err := servers.Delete(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, client, s.ID)
	if left, _ := d.List(t.Context()); len(left) > 0 {
		t.Errorf("machines left: %v", left)
	}
}

func TestTroubleReachesTheMachine(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.SlowDisk, Resource: "slow"}); err != nil {
		t.Fatal(err)
	}
	await(t, client, boot(t, client, "slow", makeImage(t, cloud)).ID, "ACTIVE")
	if got := d.last().Trouble; len(got) != 1 || got[0] != string(faultinject.SlowDisk) {
		t.Errorf("trouble %v", got)
	}
}

func TestInjectedQuota(t *testing.T) {
	t.Parallel()
	cloud := start(t, nil)
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.Quota, Service: "compute", Resource: "instances"}); err != nil {
		t.Fatal(err)
	}
	_, err := servers.Create(t.Context(), compute(t, cloud.Member), servers.CreateOpts{Name: "a", FlavorRef: "1",
		ImageRef: makeImage(t, cloud), Networks: "none"}, nil).Extract()
	if !gophercloud.ResponseCodeIs(err, 403) {
		t.Errorf("got %v", err)
	}
}

// A guest that shuts itself down is told as SHUTOFF the next time it is looked
// at; what an operator resets can be used again.
func TestGuestThatStopped(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	if err := d.None.Stop(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	touch := func(tx *store.Tx) error {
		cloud.Env.Model.Compute.Servers.Change(tx, s.ID, func(*model.Server) {})
		return nil
	}
	if err := cloud.Env.Store.Update(touch); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "SHUTOFF")
	if err := servers.ResetState(t.Context(), compute(t, cloud.Admin), s.ID, servers.StateError).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ERROR")
}
