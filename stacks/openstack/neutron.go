package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// candidate is a resource that may carry an ownership tag.
type candidate struct {
	id, name    string
	tags        []string
	metadata    map[string]string
	description string
}

// pick returns the ID of the candidate with the ownership tag. It refuses one that has the
// name but belongs to nobody or to another environment (S-02).
func pick(word string, mark ownership.Owner, candidates []candidate) (string, error) {
	var refused error
	for _, c := range candidates {
		found, ok := ownership.Find(c.tags, c.metadata, c.description)
		switch {
		case ok && found == mark:
			return c.id, nil
		case c.name == mark.Name():
			refused = foreign(word, c.name, c.id)
		}
	}
	return "", refused
}

// projectOf is the project of a client's login; "" for one that has none. Lists
// ask for what it owns: services also show what other projects share with it,
// and show everything to administrators. Whoever is not in the project could
// give such a resource our name and tags, and would own what we build on.
func projectOf(client *gophercloud.ServiceClient) string { return cloud.ProjectOf(client) }

// tag sets the tags of a Neutron resource and keeps those of others. Resources are created
// with the ownership tag in the description, so a run that is killed before this call
// leaves no resource without an owner.
func tag(ctx context.Context, client *gophercloud.ServiceClient, plural, id string, have []string, owned Ownership) error {
	want := slices.Clone(have)
	for _, t := range append(owned.mark().Tags(), owned.Tags...) {
		if !slices.Contains(want, t) {
			want = append(want, t)
		}
	}
	if len(want) == len(have) {
		return nil
	}
	_, err := attributestags.ReplaceAll(ctx, client, plural, id, attributestags.ReplaceAllOpts{Tags: want}).Extract()
	if err != nil {
		return fmt.Errorf("tagging: %w", err)
	}
	return nil
}

// hasExtension reports whether Neutron has an extension; some clouds lack some.
func hasExtension(ctx context.Context, client *gophercloud.ServiceClient, alias string) (bool, error) {
	_, err := extensions.Get(ctx, client, alias).Extract()
	if gone(err) == errGone {
		return false, nil
	}
	return err == nil, err
}

// withoutHints drops availability zone hints if the cloud does not support them (S-10).
func withoutHints(ctx context.Context, client *gophercloud.ServiceClient, alias string, hints []string) ([]string, error) {
	if len(hints) == 0 {
		return nil, nil
	}
	known, err := hasExtension(ctx, client, alias)
	if err != nil || !known {
		return nil, err
	}
	return hints, nil
}
