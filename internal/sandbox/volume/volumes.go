package volume

import (
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) volumeRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/volumes", Role: api.Reader, Handle: s.list(summary)},
		{Pattern: "GET /v3/volumes/detail", Role: api.Reader, Handle: s.list(view.render)},
		{Pattern: "GET /v3/volumes/summary", Role: api.Reader, Handle: since(12, s.summary)},
		{Pattern: "POST /v3/volumes", Role: api.Member, Handle: s.create},
		{Pattern: "GET /v3/volumes/{id}", Role: api.Reader, Handle: s.show},
		{Pattern: "PUT /v3/volumes/{id}", Role: api.Member, Handle: s.update},
		{Pattern: "DELETE /v3/volumes/{id}", Role: api.Member, Handle: s.delete},
	}
}

// volume returns the volume in the path, if it is the caller's.
func (s *service) volume(c *api.Call, r store.Reader) (model.Volume, error) {
	return Get(r, s.env.Model, c.Principal, c.Path("id"))
}

func summary(v view, _ *api.Call) map[string]any {
	return map[string]any{"id": v.ID, "name": v.Name, "links": v.Links}
}

// mine yields the records that a list is about: those of the caller's project,
// or of all or one other when an administrator asks for all_tenants.
func mine[T any](c *api.Call, r store.Reader, all *store.Table[T], of *store.Index[T], project func(T) string) iter.Seq[T] {
	wanted := c.Query("project_id")
	if !c.Principal.Admin() || !truth(c.Query("all_tenants")) {
		return of.Each(r, c.Principal.ProjectID)
	}
	return func(yield func(T) bool) {
		for v := range all.All(r) {
			if (wanted == "" || project(v) == wanted) && !yield(v) {
				return
			}
		}
	}
}

func truth(text string) bool {
	switch strings.ToLower(text) {
	case "1", "true", "t", "yes", "on", "y":
		return true
	}
	return false
}

func (s *service) list(render func(view, *api.Call) map[string]any) api.Handler {
	return func(c *api.Call) error {
		list := api.List[view]{Key: "volumes", ID: func(v view) string { return v.ID }, Filters: volumeFilters(),
			Sort: []string{"created_at:desc"}, MaxLimit: 1000, Render: func(v view) any { return render(v, c) }}
		return c.View(func(r store.Reader) error {
			list.Links = s.counted(r)
			if marker := c.Request.URL.Query().Get("marker"); marker != "" {
				if _, err := Get(r, s.env.Model, c.Principal, marker); err != nil {
					return err
				}
			}
			return list.Reply(c, func(yield func(view) bool) {
				for v := range mine(c, r, s.model.Volumes, s.model.VolumesOf, func(v model.Volume) string { return v.ProjectID }) {
					if !yield(s.view(c, r, v)) {
						return
					}
				}
			})
		})
	}
}

// counted adds the number of volumes to the links when the query asks for it.
func (s *service) counted(r store.Reader) api.Links {
	return func(c *api.Call, p api.Page, key string, body map[string]any) {
		nextLinks(c, p, key, body)
		if c.Version.AtLeast(3, 45) && truth(c.Query("with_count")) {
			body["count"] = s.model.VolumesOf.Count(r, c.Principal.ProjectID)
		}
	}
}

func volumeFilters() map[string]api.Filter[view] {
	return map[string]api.Filter[view]{
		"all_tenants": nil, "project_id": nil, "with_count": nil, "offset": nil,
		"name":            func(v view, names []string) bool { return *v.Name == unquoted(names[0]) },
		"name~":           func(v view, names []string) bool { return strings.Contains(*v.Name, names[0]) },
		"bootable":        func(v view, words []string) bool { return v.record.Bootable == truth(words[0]) },
		"metadata":        func(v view, words []string) bool { return within(dictionary(words[0]), v.record.Metadata) },
		"glance_metadata": func(v view, words []string) bool { return within(dictionary(words[0]), v.record.ImageMetadata) },
		"host":            func(v view, words []string) bool { return v.record.Host == words[0] },
	}
}

// unquoted takes the quotes off that clients put around a name with spaces.
func unquoted(name string) string { return strings.Trim(name, `"'`) }

// dictionary reads a filter's value: JSON, or Python's form of it.
func dictionary(text string) map[string]string {
	var found map[string]string
	if json.Unmarshal([]byte(text), &found) == nil ||
		json.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), &found) == nil {
		return found
	}
	return map[string]string{text: text}
}

func within(asked, has map[string]string) bool {
	for name, value := range asked {
		if got, ok := has[name]; !ok || got != value {
			return false
		}
	}
	return true
}

func (s *service) summary(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		count, size := 0, 0
		for v := range mine(c, r, s.model.Volumes, s.model.VolumesOf, func(v model.Volume) string { return v.ProjectID }) {
			count, size = count+1, size+v.Size
		}
		out := map[string]any{"total_count": count, "total_size": size}
		if c.Version.AtLeast(3, 36) {
			out["metadata"] = map[string]any{}
		}
		return c.Reply(http.StatusOK, map[string]any{"volume-summary": out})
	})
}

func (s *service) show(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.volume(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"volume": s.view(c, r, v).render(c)})
	})
}

// volumeInput is a volume to create or change.
type volumeInput struct {
	Name        api.Optional[string]            `json:"name"`
	DisplayName api.Optional[string]            `json:"display_name"`
	Description api.Optional[string]            `json:"description"`
	DisplayDesc api.Optional[string]            `json:"display_description"`
	Metadata    api.Optional[map[string]string] `json:"metadata"`
	Size        api.Optional[number]            `json:"size"`
	Image       api.Optional[string]            `json:"imageRef"`
	ImageID     api.Optional[string]            `json:"image_id"`
	Snapshot    api.Optional[string]            `json:"snapshot_id"`
	Source      api.Optional[string]            `json:"source_volid"`
	Backup      api.Optional[string]            `json:"backup_id"`
	Type        api.Optional[string]            `json:"volume_type"`
	Zone        api.Optional[string]            `json:"availability_zone"`
	Multiattach api.Optional[bool]              `json:"multiattach"`
}

// number is an integer that clients write as a number or as text.
type number int

// UnmarshalJSON reads both forms.
func (n *number) UnmarshalJSON(text []byte) error {
	return json.Unmarshal([]byte(strings.Trim(string(text), `"`)), (*int)(n))
}

func (in volumeInput) check() error {
	if in.Size.Set && !in.Size.Null && in.Size.Value < 1 {
		return api.BadRequest("Invalid input for field/attribute size. Value: %d. %d is less than the minimum of 1",
			in.Size.Value, in.Size.Value)
	}
	for field, text := range map[string]string{"name": in.Name.Value, "display_name": in.DisplayName.Value,
		"description": in.Description.Value, "display_description": in.DisplayDesc.Value} {
		if len(text) > 255 {
			return tooLong(field, text)
		}
	}
	return checkMetadata(in.Metadata.Value)
}

func tooLong(field, text string) error {
	return api.BadRequest("Invalid input for field/attribute %s. Value: %s. '%s' is too long", field, text, text)
}

func (in volumeInput) spec() Spec {
	return Spec{Name: in.Name.Or(in.DisplayName.Value), Description: in.Description.Or(in.DisplayDesc.Value),
		Size: int(in.Size.Value), ImageID: in.Image.Or(in.ImageID.Value), SnapshotID: in.Snapshot.Value,
		SourceID: in.Source.Value, BackupID: in.Backup.Value, Type: in.Type.Value, AvailabilityZone: in.Zone.Value,
		Metadata: in.Metadata.Value, Multiattach: in.Multiattach.Value}
}

func (s *service) create(c *api.Call) error {
	var in volumeInput
	if err := c.DecodeIn("volume", &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	if in.Backup.Value != "" && !c.Version.AtLeast(3, 47) {
		return api.BadRequest("Invalid input for field/attribute volume. Additional properties are not allowed ('backup_id' was unexpected)")
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := Create(tx, s.env, c.Principal, in.spec())
		if err != nil {
			return err
		}
		return c.Reply(http.StatusAccepted, map[string]any{"volume": s.view(c, tx, v).render(c)})
	})
}

func (s *service) update(c *api.Call) error {
	var in volumeInput
	if err := c.DecodeIn("volume", &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.volume(c, tx)
		if err != nil {
			return err
		}
		in.DisplayName.Apply(&v.Name)
		in.Name.Apply(&v.Name)
		in.DisplayDesc.Apply(&v.Description)
		in.Description.Apply(&v.Description)
		in.Metadata.Apply(&v.Metadata)
		v.UpdatedAt = s.env.Timing.Now()
		s.model.Volumes.Put(tx, v)
		return c.Reply(http.StatusOK, map[string]any{"volume": s.view(c, tx, v).render(c)})
	})
}

func (s *service) delete(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.volume(c, tx)
		if err != nil {
			return err
		}
		if err := deletable(tx, s.model, v, truth(c.Query("cascade"))); err != nil {
			return err
		}
		if truth(c.Query("force")) && !c.Principal.Admin() {
			return api.Forbidden("Policy doesn't allow volume:force_delete to be performed.")
		}
		for snapshot := range s.model.SnapshotsIn.Each(tx, v.ID) {
			s.removeSnapshot(tx, snapshot.ID)
		}
		remove(tx, s.env, v)
		return c.Reply(http.StatusAccepted, nil)
	})
}
