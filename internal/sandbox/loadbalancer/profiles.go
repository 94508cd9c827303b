package loadbalancer

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (o offer) profileView(p model.OfferProfile) any {
	return map[string]any{"id": p.ID, "name": p.Name, "provider_name": p.ProviderName, o.data: p.Data}
}

func (o offer) findProfile(c *api.Call, r store.Reader) (model.OfferProfile, error) {
	p, ok := o.profiles.Get(r, c.Path("id"))
	if !ok {
		return p, api.NotFound("%s %s not found.", o.profileLabel, c.Path("id"))
	}
	return p, nil
}

func (o offer) listProfiles(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		return api.List[model.OfferProfile]{Key: o.profile + "s", ID: func(p model.OfferProfile) string { return p.ID },
			Render: o.profileView, Links: api.BothLinks}.Reply(c, o.profiles.All(r))
	})
}

func (o offer) showProfile(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		p, err := o.findProfile(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{o.profile: api.Select(c, o.profileView(p))})
	})
}

func (o offer) createProfile(c *api.Call) error {
	var in offerInput
	if err := decodeIn(c, o.profile, &in); err != nil {
		return err
	}
	p := model.OfferProfile{ID: model.NewID()}
	if err := o.applyProfile(&p, in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		o.profiles.Put(tx, p)
		return c.Reply(http.StatusCreated, map[string]any{o.profile: o.profileView(p)})
	})
}

func (o offer) applyProfile(p *model.OfferProfile, in offerInput) error {
	set(&p.Name, in.Name, p.Name)
	set(&p.ProviderName, in.Provider, p.ProviderName)
	set(&p.Data, in.FlavorData, p.Data)
	set(&p.Data, in.ZoneData, p.Data)
	for field, value := range map[string]string{"name": p.Name, "provider_name": p.ProviderName, o.data: p.Data} {
		if value == "" {
			return required(field)
		}
	}
	if !slices.ContainsFunc(providers(), func(v provider) bool { return v.Name == p.ProviderName }) {
		return api.BadRequest("Provider '%s' is not enabled.", p.ProviderName)
	}
	return o.checkData(*p)
}

// updateProfile changes a profile; one that a flavor or zone has keeps all
// but its name.
func (o offer) updateProfile(c *api.Call) error {
	var in offerInput
	if err := decodeIn(c, o.profile, &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		p, err := o.findProfile(c, tx)
		if err != nil {
			return err
		}
		if (in.Provider.Set || in.FlavorData.Set || in.ZoneData.Set) && o.profileUsed(tx, p.ID) {
			return inUse(o.profileLabel, p.ID)
		}
		if err := o.applyProfile(&p, in); err != nil {
			return err
		}
		o.profiles.Put(tx, p)
		return c.Reply(http.StatusOK, map[string]any{o.profile: o.profileView(p)})
	})
}

func (o offer) profileUsed(r store.Reader, id string) bool {
	for v := range o.items.All(r) {
		if v.ProfileID == id {
			return true
		}
	}
	return false
}

func (o offer) deleteProfile(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		p, err := o.findProfile(c, tx)
		if err != nil {
			return err
		}
		if o.profileUsed(tx, p.ID) {
			return inUse(o.profileLabel, p.ID)
		}
		o.profiles.Delete(tx, p.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
