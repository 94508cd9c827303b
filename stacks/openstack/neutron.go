package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"

	"github.com/slipway-sh/slipway/internal/owner"
)

// candidate is a thing that may be the one with a mark.
type candidate struct {
	id, name    string
	tags        []string
	metadata    map[string]string
	description string
}

// pick returns the id of the candidate with the mark. One that has its name
// and belongs to nobody or to another environment is refused (S-02).
func pick(word string, mark owner.Mark, candidates []candidate) (string, error) {
	var refused error
	for _, c := range candidates {
		found, ok := owner.Find(c.tags, c.metadata, c.description)
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
func projectOf(client *gophercloud.ServiceClient) string {
	answer, ok := client.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return ""
	}
	project, err := answer.ExtractProject()
	if err != nil || project == nil {
		return ""
	}
	return project.ID
}

// tag gives a thing of Neutron its tags and leaves those of others. Things are
// made with the mark in the description already, so a run that is killed
// before this call leaves nothing foreign.
func tag(ctx context.Context, client *gophercloud.ServiceClient, plural, id string, have []string, owned Owned) error {
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

// hasExtension asks Neutron for one of its extensions; clouds leave some out.
func hasExtension(ctx context.Context, client *gophercloud.ServiceClient, alias string) (bool, error) {
	_, err := extensions.Get(ctx, client, alias).Extract()
	if gone(err) == errGone {
		return false, nil
	}
	return err == nil, err
}

// withoutHints drops availability zone hints where the cloud does not know
// them (S-10).
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
