package network

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (res resource[R, V]) post(c *api.Call) error {
	raws, bulk, err := items(c, res.one, res.many)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		views := make([]any, 0, len(raws))
		for _, raw := range raws {
			record, err := res.create(tx, c.Principal, raw)
			if err != nil {
				return err
			}
			record, _ = res.table.Get(tx, res.meta(&record).ID)
			views = append(views, api.Select(c, res.view(tx, c.Principal, record)))
		}
		if bulk {
			return c.Reply(http.StatusCreated, map[string]any{res.many: views})
		}
		return c.Reply(http.StatusCreated, map[string]any{res.one: views[0]})
	})
}

func (res resource[R, V]) put(c *api.Call) error {
	raws, bulk, err := items(c, res.one, res.many)
	if err != nil {
		return err
	}
	if bulk {
		return api.BadRequest("Unable to find '%s' in request body", res.one)
	}
	return c.Update(func(tx *store.Tx) error {
		old, err := res.change(tx, c, "update")
		if err != nil {
			return err
		}
		record, err := res.update(tx, c.Principal, old, raws[0])
		if err != nil {
			return err
		}
		res.put1(tx, record)
		return res.replyWith(c, tx, c.Path("id"))
	})
}

// put1 keeps a changed record with a new revision.
func (res resource[R, V]) put1(tx *store.Tx, record R) {
	res.core.touch(res.meta(&record))
	res.table.Put(tx, record)
}

// replyWith answers with a record as it is now.
func (res resource[R, V]) replyWith(c *api.Call, r store.Reader, id string) error {
	record, _ := res.table.Get(r, id)
	return c.Reply(http.StatusOK, map[string]any{res.one: api.Select(c, res.view(r, c.Principal, record))})
}

func (res resource[R, V]) delete(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		record, err := res.change(tx, c, "delete")
		if err != nil {
			return err
		}
		if err := res.remove(tx, c.Principal, record); err != nil {
			return err
		}
		id := res.meta(&record).ID
		for policy := range res.core.model.PoliciesOfObject.Each(tx, id) {
			res.core.model.Policies.Delete(tx, policy.ID)
		}
		res.table.Delete(tx, id)
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (res resource[R, V]) tags() api.Tags {
	read, write := api.Reader, api.Member
	if res.readers != 0 {
		read = res.readers
	}
	if res.writers != 0 {
		write = res.writers
	}
	return api.Tags{Path: res.path + "/{id}", Read: read, Write: write, Max: 255,
		Get: func(c *api.Call, r store.Reader) ([]string, error) {
			find := res.change
			if c.Request.Method == http.MethodGet {
				find = func(r store.Reader, c *api.Call, _ string) (R, error) { return res.find(r, c.Principal, c.Path("id")) }
			}
			record, err := find(r, c, "update")
			if err != nil {
				return nil, err
			}
			return res.meta(&record).Tags, nil
		},
		Put: func(c *api.Call, tx *store.Tx, tags []string) {
			res.table.Change(tx, c.Path("id"), func(record *R) {
				meta := res.meta(record)
				meta.Tags = list(tags)
				res.core.touch(meta)
			})
		}}
}

// ifMatch refuses a change of a revision that the caller has not seen.
func ifMatch(c *api.Call, revision int) error {
	header := c.Request.Header.Get("If-Match")
	if header == "" {
		return nil
	}
	number, ok := strings.CutPrefix(header, "revision_number=")
	wanted, err := strconv.Atoi(number)
	if !ok || err != nil {
		return api.Errorf(http.StatusBadRequest, "RevisionNumberConstraintInvalid", "Invalid value for If-Match: %s", header)
	}
	if wanted != revision {
		return api.Errorf(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed",
			"Constrained to %d, but current revision is %d", wanted, revision)
	}
	return nil
}

// now is the time as Neutron keeps it, in whole seconds.
func (n *Core) now() time.Time { return n.env.Timing.Now().Truncate(time.Second) }

// newMeta begins a resource.
func (n *Core) newMeta(projectID string, in owned) model.NetworkMeta {
	now := n.now()
	return model.NetworkMeta{ID: model.NewID(), ProjectID: projectID, Tags: list(in.Tags.Or(nil)), CreatedAt: now, UpdatedAt: now, Revision: 1}
}

// touch notes a change.
func (n *Core) touch(m *model.NetworkMeta) {
	m.Revision++
	m.UpdatedAt = n.now()
}

// shown is what all views have besides the record's own attributes.
type shown struct {
	TenantID string `json:"tenant_id"`
	id       string
	tags     []string
}

func show(m model.NetworkMeta) shown { return shown{m.ProjectID, m.ID, m.Tags} }

func (s shown) identify() (string, []string) { return s.id, s.tags }

func idOf[V any](v V) string {
	id, _ := any(v).(interface{ identify() (string, []string) }).identify()
	return id
}

func tagsOf[V any](v V) []string {
	_, tags := any(v).(interface{ identify() (string, []string) }).identify()
	return tags
}
