package stacks_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// TestSeedWithAConfigDrive: Nova makes one with the server, so that a change replaces it.
func TestSeedWithAConfigDrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  configDrive: true\n")
	compute, _ := w.clients.Compute()
	seed := func() *servers.Server {
		t.Helper()
		w.up(t)
		return must[*servers.Server](t)(servers.Get(t.Context(), compute, w.only(t, stacks.StepSeed).ID).Extract())
	}
	with := seed()
	if again := seed(); !with.ConfigDrive || again.ID != with.ID {
		t.Errorf("config drive: %t; the server was %s, is %s", with.ConfigDrive, with.ID, again.ID)
	}
	w.env.Config.Spec.ConfigDrive = false
	if without := seed(); without.ConfigDrive || without.ID == with.ID {
		t.Errorf("without: config drive %t; the server was %s, is %s", without.ConfigDrive, with.ID, without.ID)
	}
}
