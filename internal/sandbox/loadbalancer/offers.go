package loadbalancer

import (
	"encoding/json"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// offer serves flavors or availability zones with their profiles: the two
// differ in names, and in that zones are found by name.
type offer struct {
	*service
	items    *store.Table[model.Offer]
	profiles *store.Table[model.OfferProfile]
	// item and profile are the names in paths and bodies, list the key of the
	// list and its path.
	item, list, profile string
	profileID, data     string
	label, profileLabel string
	byName              bool
	usedBy              func(lb model.LoadBalancer) *string
	capabilities        []provider
}

func (s *service) offerRoutes() []api.Route {
	flavors := offer{service: s, items: s.model.Flavors, profiles: s.model.FlavorProfiles, item: "flavor", list: "flavors",
		profile: "flavorprofile", profileID: "flavor_profile_id", data: "flavor_data", label: "Flavor", profileLabel: "Flavor Profile",
		usedBy: func(lb model.LoadBalancer) *string { return lb.FlavorID }, capabilities: flavorCapabilities()}
	zones := offer{service: s, items: s.model.Zones, profiles: s.model.ZoneProfiles, item: "availability_zone", list: "availability_zones",
		profile: "availability_zone_profile", profileID: "availability_zone_profile_id", data: "availability_zone_data",
		label: "Availability Zone", profileLabel: "Availability Zone Profile", byName: true,
		usedBy: func(lb model.LoadBalancer) *string { return lb.AvailabilityZone }, capabilities: zoneCapabilities()}
	return append(flavors.routes("/flavors", "/flavorprofiles"), zones.routes("/availabilityzones", "/availabilityzoneprofiles")...)
}

func (o offer) routes(items, profiles string) []api.Route {
	return []api.Route{
		{Pattern: "GET " + items, Role: api.Reader, Handle: o.listItems},
		{Pattern: "POST " + items, Role: api.Admin, Handle: o.createItem},
		{Pattern: "GET " + items + "/{id}", Role: api.Reader, Handle: o.showItem},
		{Pattern: "PUT " + items + "/{id}", Role: api.Admin, Handle: o.updateItem},
		{Pattern: "DELETE " + items + "/{id}", Role: api.Admin, Handle: o.deleteItem},
		{Pattern: "GET " + profiles, Role: api.Admin, Handle: o.listProfiles},
		{Pattern: "POST " + profiles, Role: api.Admin, Handle: o.createProfile},
		{Pattern: "GET " + profiles + "/{id}", Role: api.Admin, Handle: o.showProfile},
		{Pattern: "PUT " + profiles + "/{id}", Role: api.Admin, Handle: o.updateProfile},
		{Pattern: "DELETE " + profiles + "/{id}", Role: api.Admin, Handle: o.deleteProfile},
	}
}

func (o offer) key(v model.Offer) string {
	if o.byName {
		return v.Name
	}
	return v.ID
}

func (o offer) view(v model.Offer) any {
	m := map[string]any{"name": v.Name, "description": v.Description, "enabled": v.Enabled, o.profileID: v.ProfileID}
	if !o.byName {
		m["id"] = v.ID
	}
	return m
}

func (o offer) find(c *api.Call, r store.Reader) (model.Offer, error) {
	v, ok := o.items.Get(r, c.Path("id"))
	if !ok {
		return v, api.NotFound("%s %s not found.", o.label, c.Path("id"))
	}
	return v, nil
}

func (o offer) listItems(c *api.Call) error {
	filters := map[string]api.Filter[model.Offer]{
		o.profileID: func(v model.Offer, values []string) bool { return v.ProfileID == values[0] }}
	return c.View(func(r store.Reader) error {
		return api.List[model.Offer]{Key: o.list, ID: o.key, Render: o.view, Filters: filters, Links: api.BothLinks}.
			Reply(c, o.items.All(r))
	})
}

func (o offer) showItem(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := o.find(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{o.item: api.Select(c, o.view(v))})
	})
}

// offerInput is a flavor or zone, and a profile of either.
type offerInput struct {
	Name         api.Optional[string] `json:"name"`
	Description  api.Optional[string] `json:"description"`
	Enabled      api.Optional[bool]   `json:"enabled"`
	FlavorParent api.Optional[string] `json:"flavor_profile_id"`
	ZoneParent   api.Optional[string] `json:"availability_zone_profile_id"`
	Provider     api.Optional[string] `json:"provider_name"`
	FlavorData   api.Optional[string] `json:"flavor_data"`
	ZoneData     api.Optional[string] `json:"availability_zone_data"`
}

func (o offer) createItem(c *api.Call) error {
	var in offerInput
	if err := decodeIn(c, o.item, &in); err != nil {
		return err
	}
	v := model.Offer{ID: model.NewID(), Name: in.Name.Or(""), Description: in.Description.Or(""), Enabled: in.Enabled.Or(true),
		ProfileID: in.FlavorParent.Or(in.ZoneParent.Or(""))}
	if v.Name == "" {
		return required("name")
	}
	if v.ProfileID == "" {
		return required(o.profileID)
	}
	return c.Update(func(tx *store.Tx) error {
		if _, ok := o.profiles.Get(tx, v.ProfileID); !ok {
			return missingPart(o.profileLabel, v.ProfileID)
		}
		if err := o.checkName(tx, v); err != nil {
			return err
		}
		o.items.Put(tx, v)
		return c.Reply(http.StatusCreated, map[string]any{o.item: o.view(v)})
	})
}

func (o offer) checkName(r store.Reader, v model.Offer) error {
	for other := range o.items.All(r) {
		if other.Name == v.Name && other.ID != v.ID {
			return api.Conflict("A %s of %s already exists.", o.item, v.Name)
		}
	}
	return nil
}

func (o offer) updateItem(c *api.Call) error {
	var in offerInput
	if err := decodeIn(c, o.item, &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := o.find(c, tx)
		if err != nil {
			return err
		}
		if o.byName && in.Name.Set {
			return api.BadRequest("Unknown attribute: name")
		}
		set(&v.Name, in.Name, v.Name)
		set(&v.Description, in.Description, "")
		set(&v.Enabled, in.Enabled, true)
		if err := o.checkName(tx, v); err != nil {
			return err
		}
		o.items.Put(tx, v)
		return c.Reply(http.StatusOK, map[string]any{o.item: o.view(v)})
	})
}

func (o offer) deleteItem(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := o.find(c, tx)
		if err != nil {
			return err
		}
		for lb := range o.model.Balancers.All(tx) {
			if text(o.usedBy(lb)) == o.key(v) {
				return inUse(o.label, o.key(v))
			}
		}
		o.items.Delete(tx, o.key(v))
		return c.Reply(http.StatusNoContent, nil)
	})
}

func inUse(kind, id string) error {
	return api.Conflict("%s %s is in use and cannot be modified.", kind, id)
}

// checkData refuses profile data that is no object or holds what the provider
// does not know.
func (o offer) checkData(p model.OfferProfile) error {
	var data map[string]any
	if err := json.Unmarshal([]byte(p.Data), &data); err != nil {
		return invalid(o.data, p.Data, "Value should be a JSON object")
	}
	for name := range data {
		known := false
		for _, capability := range o.capabilities {
			known = known || capability.Name == name
		}
		if !known || p.ProviderName == "ovn" {
			return unsupported(p.ProviderName, "Additional properties are not allowed ('"+name+"' was unexpected)")
		}
	}
	return nil
}
