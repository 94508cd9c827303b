package identity

import (
	"cmp"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type regionView struct {
	ID          string  `json:"id"`
	Description string  `json:"description"`
	ParentID    *string `json:"parent_region_id"`
	Links       self    `json:"links"`
	extra       map[string]any
}

func newRegionView(c *api.Call, v model.Region) regionView {
	view := regionView{ID: v.ID, Description: v.Description, Links: link(c, "/regions/"+v.ID), extra: v.Extra}
	if v.ParentID != "" {
		view.ParentID = &v.ParentID
	}
	return view
}

func (v regionView) render() any { return flatten(v, v.extra) }

func (k *Keystone) regionRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/regions", Role: api.Token, Handle: k.listRegions},
		{Pattern: "POST /v3/regions", Role: api.Admin, Handle: k.createRegion},
		{Pattern: "GET /v3/regions/{id}", Role: api.Token, Handle: k.showRegion},
		{Pattern: "PUT /v3/regions/{id}", Role: api.Admin, Handle: k.createRegion},
		{Pattern: "PATCH /v3/regions/{id}", Role: api.Admin, Handle: k.updateRegion},
		{Pattern: "DELETE /v3/regions/{id}", Role: api.Admin, Handle: k.deleteRegion},
	}
}

func (k *Keystone) listRegions(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		list := api.List[regionView]{Key: "regions", ID: func(v regionView) string { return v.ID }, Render: regionView.render, Links: api.SelfLinks}
		return list.Reply(c, func(yield func(regionView) bool) {
			for v := range k.model.Regions.All(r) {
				if !yield(newRegionView(c, v)) {
					return
				}
			}
		})
	})
}

func (k *Keystone) showRegion(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := find(r, k.model.Regions, "region", c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"region": newRegionView(c, v).render()})
	})
}

type regionInput struct {
	ID          string               `json:"id"`
	Description api.Optional[string] `json:"description"`
	ParentID    api.Optional[string] `json:"parent_region_id"`
}

func (k *Keystone) createRegion(c *api.Call) error {
	in, extra, err := decodeExtra[regionInput](c, "region")
	if err != nil {
		return err
	}
	id := cmp.Or(c.Path("id"), in.ID, model.NewKeyID())
	return c.Update(func(tx *store.Tx) error {
		if _, ok := k.model.Regions.Get(tx, id); ok {
			return duplicate("region", "Duplicate ID, %s", id)
		}
		return k.putRegion(c, tx, model.Region{ID: id}, in, extra, http.StatusCreated)
	})
}

func (k *Keystone) updateRegion(c *api.Call) error {
	in, extra, err := decodeExtra[regionInput](c, "region")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := find(tx, k.model.Regions, "region", c.Path("id"))
		if err != nil {
			return err
		}
		return k.putRegion(c, tx, v, in, extra, http.StatusOK)
	})
}

func (k *Keystone) putRegion(c *api.Call, tx *store.Tx, v model.Region, in regionInput, extra map[string]any, status int) error {
	in.Description.Apply(&v.Description)
	in.ParentID.Apply(&v.ParentID)
	v.Extra = merge(v.Extra, extra)
	if v.ParentID != "" {
		if _, err := find(tx, k.model.Regions, "region", v.ParentID); err != nil {
			return err
		}
	}
	k.model.Regions.Put(tx, v)
	return c.Reply(status, map[string]any{"region": newRegionView(c, v).render()})
}

// deleteRegion refuses a region that has endpoints.
func (k *Keystone) deleteRegion(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		for e := range k.model.Endpoints.All(tx) {
			if e.RegionID == c.Path("id") {
				return api.Forbidden("Unable to delete region %s because it or its child regions have associated endpoints.", e.RegionID)
			}
		}
		if !k.model.Regions.Delete(tx, c.Path("id")) {
			return api.NotFound("Could not find region: %s.", c.Path("id"))
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}
