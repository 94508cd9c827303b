package volume

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) encryptionRoutes() []api.Route {
	path := "/v3/types/{type}/encryption"
	return []api.Route{
		{Pattern: "GET " + path, Role: api.Admin, Handle: s.showEncryption},
		{Pattern: "POST " + path, Role: api.Admin, Handle: s.createEncryption},
		{Pattern: "GET " + path + "/{key}", Role: api.Admin, Handle: s.showEncryptionKey},
		{Pattern: "PUT " + path + "/{key}", Role: api.Admin, Handle: s.updateEncryption},
		{Pattern: "DELETE " + path + "/{key}", Role: api.Admin, Handle: s.deleteEncryption},
		{Pattern: "GET /v3/volumes/{id}/encryption", Role: api.Reader, Handle: s.volumeEncryption},
	}
}

type encryptionInput struct {
	Provider api.Optional[string] `json:"provider"`
	Cipher   api.Optional[string] `json:"cipher"`
	KeySize  api.Optional[int]    `json:"key_size"`
	Control  api.Optional[string] `json:"control_location"`
}

func (in encryptionInput) apply(e *model.VolumeEncryption) error {
	in.Provider.Apply(&e.Provider)
	in.Cipher.Apply(&e.Cipher)
	in.KeySize.Apply(&e.KeySize)
	in.Control.Apply(&e.Control)
	if e.Control != "front-end" && e.Control != "back-end" {
		return api.BadRequest("Invalid input for field/attribute control_location. Value: %s. '%s' is not one of ['front-end', 'back-end']", e.Control, e.Control)
	}
	return nil
}

func encryptionView(t model.VolumeType) map[string]any {
	if t.Encryption == nil {
		return map[string]any{}
	}
	e := t.Encryption
	return map[string]any{"encryption_id": e.ID, "volume_type_id": t.ID, "provider": e.Provider, "cipher": orNull(e.Cipher),
		"key_size": e.KeySize, "control_location": e.Control, "created_at": stamp(e.CreatedAt), "updated_at": nil,
		"deleted_at": nil, "deleted": false}
}

func (s *service) showEncryption(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := s.typeOf(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, encryptionView(t))
	})
}

func (s *service) showEncryptionKey(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := s.typeOf(c, r)
		if err != nil {
			return err
		}
		value, ok := encryptionView(t)[c.Path("key")]
		if !ok {
			return api.NotFound("The resource could not be found.")
		}
		return c.Reply(http.StatusOK, map[string]any{c.Path("key"): value})
	})
}

func (s *service) createEncryption(c *api.Call) error {
	in := encryptionInput{Control: api.Optional[string]{Set: true, Value: "front-end"}}
	if err := c.DecodeIn("encryption", &in); err != nil {
		return err
	}
	if in.Provider.Value == "" {
		return api.BadRequest("Invalid input for field/attribute encryption. 'provider' is a required property")
	}
	return c.Update(func(tx *store.Tx) error {
		t, err := s.typeOf(c, tx)
		if err != nil {
			return err
		}
		if t.Encryption != nil {
			return api.BadRequest("Volume type encryption for type %s already exists.", t.ID)
		}
		t.Encryption = &model.VolumeEncryption{ID: model.NewID(), CreatedAt: s.env.Timing.Now()}
		if err := in.apply(t.Encryption); err != nil {
			return err
		}
		if s.typeUsed(tx, t.ID) {
			return api.BadRequest("Cannot create encryption specs. Volume type in use.")
		}
		s.model.Types.Put(tx, t)
		return c.Reply(http.StatusOK, map[string]any{"encryption": encryptionView(t)})
	})
}

func (s *service) typeUsed(r store.Reader, id string) bool {
	for v := range s.model.Volumes.All(r) {
		if v.TypeID == id {
			return true
		}
	}
	return false
}

// encrypted returns the type in the path with a copy of its encryption, whose
// id is in the path too.
func (s *service) encrypted(c *api.Call, r store.Reader) (model.VolumeType, error) {
	t, err := s.typeOf(c, r)
	if err != nil {
		return t, err
	}
	if t.Encryption == nil || c.Path("key") != "provider" && c.Path("key") != t.Encryption.ID {
		return t, api.NotFound("Volume type encryption for type %s does not exist.", t.ID)
	}
	e := *t.Encryption
	t.Encryption = &e
	return t, nil
}

func (s *service) updateEncryption(c *api.Call) error {
	var in encryptionInput
	if err := c.DecodeIn("encryption", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		t, err := s.encrypted(c, tx)
		if err != nil {
			return err
		}
		if s.typeUsed(tx, t.ID) {
			return api.BadRequest("Cannot update encryption specs. Volume type in use.")
		}
		if err := in.apply(t.Encryption); err != nil {
			return err
		}
		s.model.Types.Put(tx, t)
		return c.Reply(http.StatusOK, map[string]any{"encryption": encryptionView(t)})
	})
}

func (s *service) deleteEncryption(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		t, err := s.encrypted(c, tx)
		if err != nil {
			return err
		}
		if s.typeUsed(tx, t.ID) {
			return api.BadRequest("Cannot delete encryption specs. Volume type in use.")
		}
		t.Encryption = nil
		s.model.Types.Put(tx, t)
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) volumeEncryption(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.volume(c, r)
		if err != nil {
			return err
		}
		if !v.Encrypted {
			return c.Reply(http.StatusOK, map[string]any{"encryption_key_id": nil})
		}
		t, _ := s.model.Types.Get(r, v.TypeID)
		view := encryptionView(t)
		return c.Reply(http.StatusOK, map[string]any{"encryption_key_id": nil, "provider": view["provider"],
			"cipher": view["cipher"], "key_size": view["key_size"], "control_location": view["control_location"]})
	})
}
