package volume

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const awaitingTransfer = "awaiting-transfer"

// transferRoutes are at the path of an extension, and since 3.55 at another.
func (s *service) transferRoutes() []api.Route {
	var routes []api.Route
	for _, path := range []string{"/v3/os-volume-transfer", "/v3/volume-transfers"} {
		routes = append(routes,
			api.Route{Pattern: "GET " + path, Role: api.Reader, Handle: s.listTransfers(false)},
			api.Route{Pattern: "GET " + path + "/detail", Role: api.Reader, Handle: s.listTransfers(true)},
			api.Route{Pattern: "POST " + path, Role: api.Member, Handle: s.createTransfer},
			api.Route{Pattern: "GET " + path + "/{id}", Role: api.Reader, Handle: s.showTransfer},
			api.Route{Pattern: "DELETE " + path + "/{id}", Role: api.Member, Handle: s.deleteTransfer},
			api.Route{Pattern: "POST " + path + "/{id}/accept", Role: api.Member, Handle: s.acceptTransfer})
	}
	return routes
}

// transferView is a transfer as clients see it; the key is told once.
type transferView struct {
	ID        string     `json:"id"`
	Name      *string    `json:"name"`
	VolumeID  string     `json:"volume_id"`
	CreatedAt string     `json:"created_at"`
	Key       string     `json:"auth_key,omitempty"`
	Links     []api.Link `json:"links"`
}

func newTransferView(c *api.Call, t model.VolumeTransfer) transferView {
	return transferView{ID: t.ID, Name: orNull(t.Name), VolumeID: t.VolumeID, CreatedAt: stamp(t.CreatedAt),
		Links: links(c, "os-volume-transfer", t.ID)}
}

func short(v transferView) any {
	return map[string]any{"id": v.ID, "name": v.Name, "volume_id": v.VolumeID, "links": v.Links}
}

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func (s *service) listTransfers(detail bool) api.Handler {
	return func(c *api.Call) error {
		list := api.List[transferView]{Key: "transfers", ID: func(v transferView) string { return v.ID }, MaxLimit: 1000,
			Links: nextLinks, Filters: map[string]api.Filter[transferView]{"all_tenants": nil}}
		if !detail {
			list.Render = short
		}
		everyone := c.Principal.Admin() && truth(c.Query("all_tenants"))
		return c.View(func(r store.Reader) error {
			return list.Reply(c, func(yield func(transferView) bool) {
				for t := range s.model.Transfers.All(r) {
					if (everyone || t.ProjectID == c.Principal.ProjectID) && !yield(newTransferView(c, t)) {
						return
					}
				}
			})
		})
	}
}

func noTransfer(id string) error { return api.NotFound("Transfer %s could not be found.", id) }

func (s *service) transfer(c *api.Call, r store.Reader) (model.VolumeTransfer, error) {
	t, ok := s.model.Transfers.Get(r, c.Path("id"))
	if !ok || !c.Principal.Owns(t.ProjectID) {
		return t, noTransfer(c.Path("id"))
	}
	return t, nil
}

func (s *service) showTransfer(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := s.transfer(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"transfer": newTransferView(c, t)})
	})
}

func (s *service) createTransfer(c *api.Call) error {
	var in struct {
		VolumeID string `json:"volume_id"`
		Name     string `json:"name"`
	}
	if err := c.DecodeIn("transfer", &in); err != nil {
		return err
	}
	key := make([]byte, 8)
	_, _ = rand.Read(key) // never fails
	secret := hex.EncodeToString(key)
	return c.Update(func(tx *store.Tx) error {
		v, err := Get(tx, s.env.Model, c.Principal, in.VolumeID)
		if err != nil {
			return err
		}
		if v.Status != model.VolumeAvailable {
			return api.BadRequest("Invalid volume: status must be available")
		}
		t := model.VolumeTransfer{ID: model.NewID(), Name: in.Name, VolumeID: v.ID, ProjectID: v.ProjectID,
			Hash: hash(secret), CreatedAt: s.env.Timing.Now()}
		s.model.Transfers.Put(tx, t)
		s.mark(tx, v.ID, awaitingTransfer)
		view := newTransferView(c, t)
		view.Key = secret
		return c.Reply(http.StatusAccepted, map[string]any{"transfer": view})
	})
}

func (s *service) deleteTransfer(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		t, err := s.transfer(c, tx)
		if err != nil {
			return err
		}
		s.model.Transfers.Delete(tx, t.ID)
		if v, ok := s.model.Volumes.Get(tx, t.VolumeID); ok && v.Status == awaitingTransfer {
			s.mark(tx, v.ID, model.VolumeAvailable)
		}
		return c.Reply(http.StatusAccepted, nil)
	})
}

// acceptTransfer gives the volume to the caller's project, who knows the key.
func (s *service) acceptTransfer(c *api.Call) error {
	var in struct {
		Key string `json:"auth_key"`
	}
	if err := c.DecodeIn("accept", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		t, ok := s.model.Transfers.Get(tx, c.Path("id"))
		if !ok {
			return noTransfer(c.Path("id"))
		}
		if subtle.ConstantTimeCompare([]byte(hash(in.Key)), []byte(t.Hash)) != 1 {
			return api.BadRequest("Invalid auth key: Attempt to transfer %s with invalid auth key.", t.ID)
		}
		v, _ := s.model.Volumes.Get(tx, t.VolumeID)
		kind, _ := s.model.Types.Get(tx, v.TypeID)
		if err := (ledger{s.env, c.Principal.ProjectID}).volumes(tx, kind.Name, 1, v.Size); err != nil {
			return err
		}
		s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) {
			v.ProjectID, v.UserID, v.Status, v.UpdatedAt = c.Principal.ProjectID, c.Principal.UserID(), model.VolumeAvailable, s.env.Timing.Now()
		})
		for snapshot := range s.model.SnapshotsIn.Each(tx, v.ID) {
			s.model.Snapshots.Change(tx, snapshot.ID, func(v *model.Snapshot) { v.ProjectID = c.Principal.ProjectID })
		}
		s.model.Transfers.Delete(tx, t.ID)
		return c.Reply(http.StatusAccepted, map[string]any{"transfer": short(newTransferView(c, t))})
	})
}
