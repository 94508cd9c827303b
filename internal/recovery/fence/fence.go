// Package fence keeps a former management cluster that comes back from tenants'
// clusters. A rebuild takes the next generation of the environment in the cloud
// before it restores anything, and revokes the application credentials of the former
// one before it unpauses anything. Who has an older generation must not write.
package fence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// tag is the generation on the environment's security group. Every environment has
// one of its own, `up` keeps its tags and `down` deletes it with everything else.
const tag = "slipway:generation="

// Step is that of the security group among the environment's steps. Those that Cluster API
// makes for the management cluster have the environment's tags too, but go with the cluster.
const Step = "seed-access"

// ErrFenced is that a newer management cluster took the environment over.
var ErrFenced = errors.New("a newer management cluster manages this environment")

// Fence is the generation of one environment.
type Fence struct {
	// Network is Neutron with a login in the environment's project.
	Network *gophercloud.ServiceClient
	// Environment is its name.
	Environment string
}

// Generation reads the generation; 0 is that of an environment that was never rebuilt.
func (f Fence) Generation(ctx context.Context) (int, error) {
	group, err := f.group(ctx)
	if err != nil {
		return 0, err
	}
	return generation(group.Tags), nil
}

// generation is the highest among tags: a run that was killed between two calls may
// have left two.
func generation(tags []string) int {
	highest := 0
	for _, t := range tags {
		if value, found := strings.CutPrefix(t, tag); found {
			if n, err := strconv.Atoi(value); err == nil {
				highest = max(highest, n)
			}
		}
	}
	return highest
}

// Take takes a generation that is higher than the former. Taking it again changes
// nothing; if a higher one is there, it is ErrFenced.
func (f Fence) Take(ctx context.Context, wanted int) error {
	group, err := f.group(ctx)
	if err != nil {
		return err
	}
	now := generation(group.Tags)
	if now > wanted {
		return fault.New("environment "+f.Environment, fmt.Errorf("%w: its generation is %d, this one is %d", ErrFenced, now, wanted), "work with the newer one: run slipway kubeconfig where it was rebuilt")
	}
	// The new one is there before the old one goes: at no moment is there none.
	if err := attributestags.Add(ctx, f.Network, "security-groups", group.ID, tag+strconv.Itoa(wanted)).ExtractErr(); err != nil {
		return fmt.Errorf("taking generation %d: %w", wanted, err)
	}
	for _, t := range group.Tags {
		if value, found := strings.CutPrefix(t, tag); found && value != strconv.Itoa(wanted) {
			if err := attributestags.Delete(ctx, f.Network, "security-groups", group.ID, t).ExtractErr(); err != nil && !gophercloud.ResponseCodeIs(err, 404) {
				return fmt.Errorf("leaving generation %s: %w", value, err)
			}
		}
	}
	return nil
}

// Check is ErrFenced if a newer generation than ours was taken, also if the fence
// itself is gone: then the environment is. An error of the cloud is returned as it
// is; who cannot read the fence must not write either.
func (f Fence) Check(ctx context.Context, ours int) error {
	now, err := f.Generation(ctx)
	switch {
	case errors.Is(err, errNoGroup):
		return fmt.Errorf("%w: %w", ErrFenced, err)
	case err != nil:
		return err
	case now > ours:
		return fmt.Errorf("%w: its generation is %d, ours is %d", ErrFenced, now, ours)
	}
	return nil
}

var errNoGroup = errors.New("the environment has no security group of its own")

// group is the environment's security group: of the project of who asks, because Neutron shows
// administrators all, and everybody what others share, whatever tags they gave it.
func (f Fence) group(ctx context.Context) (*groups.SecGroup, error) {
	pages, err := groups.List(f.Network, groups.ListOpts{ProjectID: cloud.ProjectOf(f.Network), Tags: strings.Join(ownership.EnvironmentTags(f.Environment), ",")}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the generation of %s: %w", f.Environment, err)
	}
	all, err := groups.ExtractGroups(pages)
	if err != nil {
		return nil, fmt.Errorf("reading the generation of %s: %w", f.Environment, err)
	}
	var found *groups.SecGroup
	for i := range all {
		if owner, ok := ownership.FromTags(all[i].Tags); ok && owner.Environment == f.Environment && owner.Step == Step && (found == nil || all[i].ID < found.ID) {
			found = &all[i]
		}
	}
	if found == nil {
		return nil, fault.New("environment "+f.Environment, errNoGroup, "run slipway up, which makes it")
	}
	return found, nil
}
