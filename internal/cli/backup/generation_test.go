package backup

import (
	"errors"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestNoBackupOfAReplacedManagementCluster: it would be the newest one. A new environment is not
// refused for what a former one of its name left in the cloud.
func TestNoBackupOfAReplacedManagementCluster(t *testing.T) {
	t.Parallel()
	network := sandboxtest.Start(t).Member.Network(t)
	owner := ownership.New("prod", fence.Step)
	group, err := groups.Create(t.Context(), network, groups.CreateOpts{Name: owner.Name(), Description: owner.Description()}).Extract()
	if err == nil {
		_, err = attributestags.ReplaceAll(t.Context(), network, "security-groups", group.ID, attributestags.ReplaceAllOpts{Tags: owner.Tags()}).Extract()
	}
	prod := fence.Fence{Network: network, Environment: "prod"}
	if err == nil {
		err = prod.Take(t.Context(), 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		ours   generation
		at     fence.Fence
		fenced bool
	}{
		"replaced":                 {generation{1, true}, prod, true},
		"the first, replaced":      {generation{0, true}, prod, true},
		"the newest":               {generation{2, true}, prod, false},
		"being rebuilt":            {generation{3, true}, prod, false},
		"new":                      {generation{0, false}, prod, false},
		"a cloud that has no such": {generation{1, true}, fence.Fence{Network: network, Environment: "other"}, false},
	} {
		err := test.ours.check(t.Context(), test.at)
		if errors.Is(err, fence.ErrFenced) != test.fenced || (err != nil) != test.fenced || test.fenced && fault.Remedy(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
