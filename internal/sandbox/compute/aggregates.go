package compute

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) aggregateRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/os-aggregates", Role: api.Admin, Handle: s.listAggregates},
		{Pattern: "POST /v2.1/os-aggregates", Role: api.Admin, Handle: s.createAggregate},
		{Pattern: "GET /v2.1/os-aggregates/{id}", Role: api.Admin, Handle: s.showAggregate},
		{Pattern: "PUT /v2.1/os-aggregates/{id}", Role: api.Admin, Handle: s.updateAggregate},
		{Pattern: "DELETE /v2.1/os-aggregates/{id}", Role: api.Admin, Handle: s.deleteAggregate},
		{Pattern: "POST /v2.1/os-aggregates/{id}/action", Role: api.Admin, Handle: s.changeAggregate},
	}
}

func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == item })
}

func aggregateView(c *api.Call, a model.Aggregate) map[string]any {
	v := map[string]any{"id": a.ID, "name": a.Name, "availability_zone": orNull(a.Metadata["availability_zone"]),
		"hosts": append([]string{}, a.Hosts...), "metadata": orEmpty(a.Metadata), "deleted": false, "deleted_at": nil,
		"created_at": a.CreatedAt.Format(micros), "updated_at": text(a.UpdatedAt, micros)}
	if c.Version.AtLeast(2, 41) {
		v["uuid"] = a.UUID
	}
	return v
}

func (s *service) aggregate(c *api.Call, r store.Reader) (model.Aggregate, error) {
	for a := range s.model.Aggregates.All(r) {
		if strconv.Itoa(a.ID) == c.Path("id") {
			return a, nil
		}
	}
	return model.Aggregate{}, api.NotFound("Aggregate %s could not be found.", c.Path("id"))
}

func (s *service) listAggregates(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		list := []any{}
		for a := range s.model.Aggregates.All(r) {
			list = append(list, aggregateView(c, a))
		}
		return c.Reply(http.StatusOK, map[string]any{"aggregates": list})
	})
}

func (s *service) showAggregate(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		a, err := s.aggregate(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"aggregate": aggregateView(c, a)})
	})
}

type aggregateInput struct {
	Name string               `json:"name"`
	Zone api.Optional[string] `json:"availability_zone"`
}

func (s *service) createAggregate(c *api.Call) error {
	var in aggregateInput
	if err := c.DecodeIn("aggregate", &in); err != nil {
		return err
	}
	if in.Name == "" {
		return api.BadRequest("Invalid input for field/attribute aggregate. 'name' is a required property")
	}
	a := model.Aggregate{UUID: model.NewID(), Name: in.Name, Metadata: map[string]string{}, CreatedAt: s.env.Timing.Now()}
	if zone := in.Zone.Or(""); zone != "" {
		a.Metadata["availability_zone"] = zone
	}
	return c.Update(func(tx *store.Tx) error {
		for other := range s.model.Aggregates.All(tx) {
			if other.Name == a.Name {
				return api.Conflict("Aggregate %s already exists.", a.Name)
			}
			a.ID = max(a.ID, other.ID)
		}
		a.ID++
		s.model.Aggregates.Put(tx, a)
		v := aggregateView(c, a)
		delete(v, "hosts")
		delete(v, "metadata")
		return c.Reply(http.StatusOK, map[string]any{"aggregate": v})
	})
}

// editAggregate changes the aggregate in the path and answers with it.
func (s *service) editAggregate(c *api.Call, edit func(tx *store.Tx, a *model.Aggregate) error) error {
	return c.Update(func(tx *store.Tx) error {
		a, err := s.aggregate(c, tx)
		if err != nil {
			return err
		}
		s.model.Aggregates.Change(tx, a.UUID, func(v *model.Aggregate) {
			now := s.env.Timing.Now()
			v.UpdatedAt = &now
			if v.Metadata == nil {
				v.Metadata = map[string]string{}
			}
			err = edit(tx, v)
			a = *v
		})
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"aggregate": aggregateView(c, a)})
	})
}

func (s *service) updateAggregate(c *api.Call) error {
	var in aggregateInput
	if err := c.DecodeIn("aggregate", &in); err != nil {
		return err
	}
	return s.editAggregate(c, func(tx *store.Tx, a *model.Aggregate) error {
		if in.Name != "" {
			a.Name = in.Name
		}
		if in.Zone.Set {
			return s.setZone(tx, a, in.Zone.Value)
		}
		return nil
	})
}

// setZone makes the hosts of an aggregate a zone; while servers run on its hosts, the zone of an
// aggregate cannot change.
func (s *service) setZone(r store.Reader, a *model.Aggregate, zone string) error {
	if zone != a.Metadata["availability_zone"] {
		for _, host := range a.Hosts {
			if s.model.ServersOn.Count(r, host) > 0 {
				return api.Conflict("One or more hosts contain instances in this zone. Aggregate %d: action 'update aggregate' caused an error", a.ID)
			}
		}
	}
	a.Metadata["availability_zone"] = zone
	if zone == "" {
		delete(a.Metadata, "availability_zone")
	}
	return nil
}

func (s *service) deleteAggregate(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		a, err := s.aggregate(c, tx)
		if err != nil {
			return err
		}
		if len(a.Hosts) > 0 {
			return api.BadRequest("Cannot remove host from aggregate %d. Reason: Host aggregate is not empty.", a.ID)
		}
		s.model.Aggregates.Delete(tx, a.UUID)
		return c.Reply(http.StatusOK, nil)
	})
}

func (s *service) changeAggregate(c *api.Call) error {
	type host struct {
		Host string `json:"host"`
	}
	var in struct {
		Add    *host `json:"add_host"`
		Remove *host `json:"remove_host"`
		Set    *struct {
			Metadata map[string]*string `json:"metadata"`
		} `json:"set_metadata"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	return s.editAggregate(c, func(tx *store.Tx, a *model.Aggregate) error {
		switch {
		case in.Add != nil:
			return s.addHost(tx, a, in.Add.Host)
		case in.Remove != nil:
			if !slices.Contains(a.Hosts, in.Remove.Host) {
				return api.NotFound("Cannot remove host %s in aggregate %d: not found", in.Remove.Host, a.ID)
			}
			a.Hosts = without(a.Hosts, in.Remove.Host)
			return nil
		case in.Set != nil:
			return s.setMetadata(tx, a, in.Set.Metadata)
		}
		return api.BadRequest("There is no such action: the body holds none of add_host, remove_host and set_metadata")
	})
}

func (s *service) addHost(r store.Reader, a *model.Aggregate, name string) error {
	if _, ok := s.model.Hosts.Get(r, name); !ok {
		return api.NotFound("Compute host %s could not be found.", name)
	}
	if slices.Contains(a.Hosts, name) {
		return api.Conflict("Cannot add host %s in aggregate %d: host exists", name, a.ID)
	}
	zone := a.Metadata["availability_zone"]
	now := s.zone(r, name)
	if zone != "" && now != defaultZone && now != zone {
		return api.Conflict("Cannot add host to aggregate %d. Reason: One or more hosts already in availability zone(s) ['%s'].", a.ID, now)
	}
	if zone != "" && now != zone && s.model.ServersOn.Count(r, name) > 0 {
		return api.Conflict("Cannot add host to aggregate %d. Reason: Host %s contains instances in another availability zone.", a.ID, name)
	}
	a.Hosts = append(a.Hosts, name)
	return nil
}

func (s *service) setMetadata(r store.Reader, a *model.Aggregate, changes map[string]*string) error {
	for key, value := range changes {
		switch {
		case key == "availability_zone":
			zone := ""
			if value != nil {
				zone = *value
			}
			if err := s.setZone(r, a, zone); err != nil {
				return err
			}
		case value == nil:
			delete(a.Metadata, key)
		default:
			a.Metadata[key] = *value
		}
	}
	return nil
}

// only returns the only key of an action's body and its value.
func only(body map[string]json.RawMessage) (string, json.RawMessage, bool) {
	if len(body) != 1 {
		return "", nil, false
	}
	for key, value := range body {
		return key, value, true
	}
	return "", nil, false
}
