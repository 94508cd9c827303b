package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// Adopt gives an existing resource to a step of an environment: it sets the step's name and
// ownership tag, so that the next Up adopts it (row S-05). word is the type of the
// resource, as in Resource. It refuses resources of other environments, and a second resource
// for a step. It can be called again after it failed half-way.
func (i Inventory) Adopt(ctx context.Context, word string, mark ownership.Owner, id string) error {
	object := word + " " + id
	if collections()[word] == "" {
		return fault.Usage(object, errors.New("this type cannot be adopted"), "run slipway up, which creates one")
	}
	things, err := i.List(ctx, mark.Environment)
	if err != nil {
		return fmt.Errorf("listing the resources of the environment: %w", err)
	}
	for _, thing := range things {
		if thing.Step == mark.Step && thing.Type == word && thing.ID != id {
			return fault.Usage(object, fmt.Errorf("the environment already has a %s for %s: %s", word, mark.Step, thing.ID), "delete that one first, and run slipway refresh")
		}
	}
	if word == TypeVolume {
		err = i.adoptVolume(ctx, mark, id)
	} else {
		err = i.adoptNeutron(ctx, word, mark, id)
	}
	if errors.Is(err, errGone) {
		return fault.Usage(object, err, "give the ID of one in the project")
	}
	if err != nil {
		return fmt.Errorf("adopting %s: %w", object, explain(object, err))
	}
	return nil
}

// ofOthers refuses a resource with the ownership tag of another environment or step.
func ofOthers(word, id string, found ownership.Owner, marked bool, mark ownership.Owner) error {
	if !marked || found == mark {
		return nil
	}
	return fault.Usage(word+" "+id, fmt.Errorf("it belongs to %s of environment %s", found.Step, found.Environment), "if that environment is gone, first remove its ownership tag from the resource")
}

func (i Inventory) adoptVolume(ctx context.Context, mark ownership.Owner, id string) error {
	client, v, err := volumeKind{i.Clients}.get(ctx, id)
	if err != nil {
		return err
	}
	found, marked := ownership.Find(nil, v.Metadata, v.Description)
	if err := ofOthers(TypeVolume, id, found, marked, mark); err != nil {
		return err
	}
	metadata := maps.Clone(v.Metadata)
	maps.Copy(metadata, mark.Metadata())
	name, description := mark.Name(), described(v.Description, mark)
	_, err = volumes.Update(ctx, client, id, volumes.UpdateOpts{Name: &name, Description: &description, Metadata: metadata}).Extract()
	return err
}

// described appends the ownership tag to an existing description.
func described(text string, mark ownership.Owner) string {
	if found, ok := ownership.FromDescription(text); ok && found == mark {
		return text
	}
	return strings.TrimSpace(text + " " + mark.Description())
}

// collections are the API's collections, by the types that can be adopted.
func collections() map[string]string {
	return map[string]string{TypeNetwork: "networks", TypeSubnet: "subnets", TypeRouter: "routers", TypeSecurityGroup: "security-groups",
		TypePort: "ports", TypeFloatingIP: "floatingips", TypeVolume: "volumes"}
}

func (i Inventory) adoptNeutron(ctx context.Context, word string, mark ownership.Owner, id string) error {
	client, err := i.Network()
	if err != nil {
		return err
	}
	plural := collections()[word]
	singular := strings.ReplaceAll(strings.TrimSuffix(plural, "s"), "-", "_")
	var body map[string]struct {
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
	}
	if _, err := client.Get(ctx, client.ServiceURL(plural, id), &body, nil); err != nil {
		return gone(err)
	}
	thing := body[singular]
	found, marked := ownership.Find(thing.Tags, nil, thing.Description)
	if err := ofOthers(word, id, found, marked, mark); err != nil {
		return err
	}
	change := map[string]string{"description": described(thing.Description, mark)}
	if word != TypeFloatingIP { // it has no name
		change["name"] = mark.Name()
	}
	if _, err := client.Put(ctx, client.ServiceURL(plural, id), map[string]any{singular: change}, nil, &gophercloud.RequestOpts{OkCodes: []int{200}}); err != nil {
		return err
	}
	return tag(ctx, client, plural, id, thing.Tags, Ownership{Environment: mark.Environment, Step: mark.Step})
}
