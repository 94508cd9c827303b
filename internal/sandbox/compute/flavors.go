package compute

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) flavorRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/flavors", Role: api.Reader, Handle: s.listFlavors},
		{Pattern: "GET /v2.1/flavors/detail", Role: api.Reader, Handle: s.listFlavorDetails},
		{Pattern: "POST /v2.1/flavors", Role: api.Admin, Handle: s.createFlavor},
		{Pattern: "GET /v2.1/flavors/{id}", Role: api.Reader, Handle: s.showFlavor},
		{Pattern: "PUT /v2.1/flavors/{id}", Role: api.Admin, Handle: s.updateFlavor},
		{Pattern: "DELETE /v2.1/flavors/{id}", Role: api.Admin, Handle: s.deleteFlavor},
		{Pattern: "GET /v2.1/flavors/{id}/os-flavor-access", Role: api.Admin, Handle: s.showAccess},
		{Pattern: "POST /v2.1/flavors/{id}/action", Role: api.Admin, Handle: s.changeAccess},
	}
}

// flavorItem is a flavor in a list: the attributes are those that lists sort by.
type flavorItem struct {
	ID        string `json:"flavorid"`
	Name      string `json:"name"`
	VCPUs     int    `json:"vcpus"`
	RAM       int    `json:"memory_mb"`
	Disk      int    `json:"root_gb"`
	Ephemeral int    `json:"ephemeral_gb"`
	Swap      int    `json:"swap"`
	Public    bool   `json:"is_public_flag"`
	flavor    model.Flavor
}

func (s *service) listFlavors(c *api.Call) error {
	return s.flavorList(c, func(i flavorItem) any {
		f := map[string]any{"id": i.flavor.ID, "name": i.flavor.Name, "links": flavorLinks(c, i.flavor.ID)}
		if c.Version.AtLeast(2, 55) {
			f["description"] = i.flavor.Description
		}
		return f
	})
}

func (s *service) listFlavorDetails(c *api.Call) error {
	return s.flavorList(c, func(i flavorItem) any { return flavorView(c, i.flavor) })
}

func (s *service) flavorList(c *api.Call, render func(flavorItem) any) error {
	for _, name := range []string{"minDisk", "minRam"} {
		if text := c.Query(name); text != "" {
			if _, err := strconv.Atoi(text); err != nil {
				return api.BadRequest("Invalid %s filter [%s]", name, text)
			}
		}
	}
	wanted, err := publicFilter(c)
	if err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		return api.List[flavorItem]{Key: "flavors", ID: func(i flavorItem) string { return i.ID },
			Links: api.NextLinks, MaxLimit: 1000, Render: render, Sort: []string{"flavorid"},
			Filters: map[string]api.Filter[flavorItem]{
				"minDisk":   func(i flavorItem, v []string) bool { return i.Disk >= number(v[0]) },
				"minRam":    func(i flavorItem, v []string) bool { return i.RAM >= number(v[0]) },
				"is_public": nil,
			}}.Reply(c, func(yield func(flavorItem) bool) {
			for f := range s.model.Flavors.All(r) {
				if wanted(f) && !yield(flavorItem{f.ID, f.Name, f.VCPUs, f.RAM, f.Disk, f.Ephemeral, f.Swap, f.Public, f}) {
					return
				}
			}
		})
	})
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// publicFilter returns which flavors a list shows: administrators choose by is_public, others see
// those that they may use.
func publicFilter(c *api.Call) (func(model.Flavor) bool, error) {
	mine := func(f model.Flavor) bool {
		return f.Public || slices.Contains(f.Projects, c.Principal.ProjectID)
	}
	asked := c.Query("is_public")
	if !c.Principal.Admin() || asked == "" {
		return mine, nil
	}
	if strings.EqualFold(asked, "none") {
		return func(model.Flavor) bool { return true }, nil
	}
	public, err := strconv.ParseBool(strings.ToLower(asked))
	if err != nil {
		return nil, api.BadRequest("Invalid is_public filter [%s]", asked)
	}
	return func(f model.Flavor) bool { return f.Public == public }, nil
}

func flavorLinks(c *api.Call, id string) []api.Link {
	return []api.Link{{Rel: "self", Href: c.URL("/v2.1/flavors/" + id)}, {Rel: "bookmark", Href: c.URL("/flavors/" + id)}}
}

func flavorView(c *api.Call, f model.Flavor) map[string]any {
	v := map[string]any{
		"id": f.ID, "name": f.Name, "vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "OS-FLV-EXT-DATA:ephemeral": f.Ephemeral,
		"rxtx_factor": f.RxTxFactor, "os-flavor-access:is_public": f.Public, "OS-FLV-DISABLED:disabled": false,
		"swap": "", "links": flavorLinks(c, f.ID),
	}
	if f.Swap > 0 || c.Version.AtLeast(2, 75) {
		v["swap"] = f.Swap
	}
	if c.Version.AtLeast(2, 55) {
		v["description"] = f.Description
	}
	if c.Version.AtLeast(2, 61) {
		v["extra_specs"] = orEmpty(f.ExtraSpecs)
	}
	return v
}

// orEmpty returns a map that is never null in JSON.
func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// flavor finds a flavor that the caller may use.
func (s *service) flavor(c *api.Call, r store.Reader, id string) (model.Flavor, error) {
	f, ok := s.model.Flavors.Get(r, id)
	if !ok || !(f.Public || c.Principal.Admin() || slices.Contains(f.Projects, c.Principal.ProjectID)) {
		return f, api.NotFound("Flavor %s could not be found.", id)
	}
	return f, nil
}

func (s *service) showFlavor(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		f, err := s.flavor(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"flavor": flavorView(c, f)})
	})
}

type flavorInput struct {
	ID          any                  `json:"id"`
	Name        string               `json:"name"`
	VCPUs       *amount              `json:"vcpus"`
	RAM         *amount              `json:"ram"`
	Disk        *amount              `json:"disk"`
	Ephemeral   amount               `json:"OS-FLV-EXT-DATA:ephemeral"`
	Swap        amount               `json:"swap"`
	RxTx        *float64             `json:"rxtx_factor"`
	Public      api.Optional[bool]   `json:"os-flavor-access:is_public"`
	Description api.Optional[string] `json:"description"`
}

var flavorID = regexp.MustCompile(`^[a-zA-Z0-9. _-]*$`)

func (in flavorInput) flavor() (model.Flavor, error) {
	f := model.Flavor{Name: strings.TrimSpace(in.Name), RxTxFactor: 1, Public: in.Public.Or(true), ExtraSpecs: map[string]string{},
		Ephemeral: int(in.Ephemeral), Swap: int(in.Swap)}
	if f.Name == "" || len(f.Name) > 255 {
		return f, api.BadRequest("Invalid input for field/attribute name. Value: %s. %q is too short or too long", in.Name, in.Name)
	}
	for name, field := range map[string]*amount{"vcpus": in.VCPUs, "ram": in.RAM, "disk": in.Disk} {
		if field == nil {
			return f, api.BadRequest("Invalid input for field/attribute flavor. %q is a required property", name)
		}
	}
	f.VCPUs, f.RAM, f.Disk = int(*in.VCPUs), int(*in.RAM), int(*in.Disk)
	if f.VCPUs < 1 || f.RAM < 1 || f.Disk < 0 || f.Ephemeral < 0 || f.Swap < 0 {
		return f, api.BadRequest("Invalid input for field/attribute flavor. A size is less than the minimum.")
	}
	if in.RxTx != nil {
		f.RxTxFactor = *in.RxTx
	}
	if in.Description.Set && !in.Description.Null {
		f.Description = &in.Description.Value
	}
	switch id := in.ID.(type) {
	case string:
		f.ID = strings.TrimSpace(id)
	case float64:
		f.ID = strconv.Itoa(int(id))
	}
	if f.ID == "" || f.ID == "auto" {
		f.ID = model.NewID()
	}
	if !flavorID.MatchString(f.ID) || len(f.ID) > 255 {
		return f, api.BadRequest("Invalid input for field/attribute id. Value: %s.", f.ID)
	}
	return f, nil
}

func (s *service) createFlavor(c *api.Call) error {
	var in flavorInput
	if err := c.DecodeIn("flavor", &in); err != nil {
		return err
	}
	f, err := in.flavor()
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		for other := range s.model.Flavors.All(tx) {
			if other.ID == f.ID {
				return api.Conflict("Flavor with ID %s already exists.", f.ID)
			}
			if other.Name == f.Name {
				return api.Conflict("Flavor with name %s already exists.", f.Name)
			}
		}
		s.model.Flavors.Put(tx, f)
		return c.Reply(http.StatusOK, map[string]any{"flavor": flavorView(c, f)})
	})
}

// updateFlavor changes the description, which is all that can be changed.
func (s *service) updateFlavor(c *api.Call) error {
	if !c.Version.AtLeast(2, 55) {
		return api.NotFound("The resource could not be found.")
	}
	var in struct {
		Description *string `json:"description"`
	}
	if err := c.DecodeIn("flavor", &in); err != nil {
		return err
	}
	return s.editFlavor(c, func(f *model.Flavor) error {
		f.Description = in.Description
		return c.Reply(http.StatusOK, map[string]any{"flavor": flavorView(c, *f)})
	})
}

// editFlavor changes the flavor in the path.
func (s *service) editFlavor(c *api.Call, edit func(*model.Flavor) error) error {
	return c.Update(func(tx *store.Tx) error {
		var err error
		if !s.model.Flavors.Change(tx, c.Path("id"), func(f *model.Flavor) { err = edit(f) }) {
			return api.NotFound("Flavor %s could not be found.", c.Path("id"))
		}
		return err
	})
}

func (s *service) deleteFlavor(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		if !s.model.Flavors.Delete(tx, c.Path("id")) {
			return api.NotFound("Flavor %s could not be found.", c.Path("id"))
		}
		return c.Reply(http.StatusAccepted, nil)
	})
}
