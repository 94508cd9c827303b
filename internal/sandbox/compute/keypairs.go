package compute

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) keyPairRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/os-keypairs", Role: api.Reader, Handle: s.listKeyPairs},
		{Pattern: "POST /v2.1/os-keypairs", Role: api.Member, Handle: s.createKeyPair},
		{Pattern: "GET /v2.1/os-keypairs/{name}", Role: api.Reader, Handle: s.showKeyPair},
		{Pattern: "DELETE /v2.1/os-keypairs/{name}", Role: api.Member, Handle: s.deleteKeyPair},
	}
}

// keyOwner returns the user whose key pairs a call is about: the caller, or the user that an
// administrator names.
func keyOwner(c *api.Call, asked string) (string, error) {
	if asked == "" || asked == c.Principal.UserID() || !c.Version.AtLeast(2, 10) {
		return c.Principal.UserID(), nil
	}
	if !c.Principal.Admin() {
		return "", api.Forbidden("Policy doesn't allow os_compute_api:os-keypairs to be performed.")
	}
	return asked, nil
}

func keyPairView(c *api.Call, k model.KeyPair, full bool) map[string]any {
	v := map[string]any{"name": k.Name, "public_key": k.PublicKey, "fingerprint": k.Fingerprint}
	if c.Version.AtLeast(2, 2) {
		v["type"] = k.Type
	}
	if full {
		v["user_id"], v["id"], v["deleted"] = k.UserID, k.Number, false
		v["created_at"], v["deleted_at"], v["updated_at"] = k.CreatedAt.Format(micros), nil, nil
	}
	return v
}

func (s *service) listKeyPairs(c *api.Call) error {
	owner, err := keyOwner(c, c.Query("user_id"))
	if err != nil {
		return err
	}
	list := api.List[model.KeyPair]{Key: "keypairs", ID: func(k model.KeyPair) string { return k.Name },
		Filters: map[string]api.Filter[model.KeyPair]{"user_id": nil}, Sort: []string{"name"},
		Render: func(k model.KeyPair) any { return map[string]any{"keypair": keyPairView(c, k, false)} }}
	if c.Version.AtLeast(2, 35) {
		list.Links, list.MaxLimit = api.NextLinks, 1000
	}
	return c.View(func(r store.Reader) error { return list.Reply(c, s.model.KeyPairsOf.Each(r, owner)) })
}

func (s *service) showKeyPair(c *api.Call) error {
	owner, err := keyOwner(c, c.Query("user_id"))
	if err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		k, ok := s.model.KeyPairs.Get(r, model.KeyPairID(owner, c.Path("name")))
		if !ok {
			return api.NotFound("Keypair %s not found for user %s", c.Path("name"), owner)
		}
		return c.Reply(http.StatusOK, map[string]any{"keypair": keyPairView(c, k, true)})
	})
}

func (s *service) deleteKeyPair(c *api.Call) error {
	owner, err := keyOwner(c, c.Query("user_id"))
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		if !s.model.KeyPairs.Delete(tx, model.KeyPairID(owner, c.Path("name"))) {
			return api.NotFound("Keypair %s not found for user %s", c.Path("name"), owner)
		}
		status := http.StatusAccepted
		if c.Version.AtLeast(2, 2) {
			status = http.StatusNoContent
		}
		return c.Reply(status, nil)
	})
}

type keyPairInput struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	PublicKey *string `json:"public_key"`
	UserID    string  `json:"user_id"`
}

var keyName = regexp.MustCompile(`^[a-zA-Z0-9 @._-]+$`)

func (in keyPairInput) check(c *api.Call) error {
	switch {
	case len(in.Name) == 0 || len(in.Name) > 255:
		return api.BadRequest("Invalid input for field/attribute name. Value: %s. %q is too short or too long", in.Name, in.Name)
	case !keyName.MatchString(in.Name):
		return api.BadRequest("Keypair data is invalid: Keypair name contains unsafe characters")
	case in.Type != "ssh" && in.Type != "x509":
		return api.BadRequest("Invalid input for field/attribute type. Value: %s. %q is not one of ['ssh', 'x509']", in.Type, in.Type)
	case in.PublicKey == nil && c.Version.AtLeast(2, 92):
		return api.BadRequest("Invalid input for field/attribute keypair. 'public_key' is a required property")
	}
	return nil
}

// createKeyPair imports a public key, or creates a pair and returns the private key, once. It
// creates the pair before the transaction, because that takes a while.
func (s *service) createKeyPair(c *api.Call) error {
	var in keyPairInput
	if err := c.DecodeIn("keypair", &in); err != nil {
		return err
	}
	in.Type = cmp.Or(in.Type, "ssh")
	if err := in.check(c); err != nil {
		return err
	}
	owner, err := keyOwner(c, in.UserID)
	if err != nil {
		return err
	}
	k := model.KeyPair{Name: in.Name, UserID: owner, Type: in.Type}
	private := ""
	if in.PublicKey == nil {
		k.PublicKey, private, err = generateKey(in.Type)
	} else {
		k.PublicKey = *in.PublicKey
	}
	if err != nil {
		return err
	}
	if k.Fingerprint, err = fingerprint(k.Type, k.PublicKey); err != nil {
		return err
	}
	return s.putKeyPair(c, k, private)
}

func (s *service) putKeyPair(c *api.Call, k model.KeyPair, private string) error {
	return c.Update(func(tx *store.Tx) error {
		if _, taken := s.model.KeyPairs.Get(tx, model.KeyPairID(k.UserID, k.Name)); taken {
			return api.Conflict("Key pair '%s' already exists.", k.Name)
		}
		mine := slices.Collect(s.model.KeyPairsOf.Each(tx, k.UserID))
		if _, over := s.quota.Exceeded(tx, c.Principal.ProjectID, "key_pairs", len(mine), 1); over {
			return api.Forbidden("Quota exceeded, too many key pairs.")
		}
		for other := range s.model.KeyPairs.All(tx) {
			k.Number = max(k.Number, other.Number)
		}
		k.Number++
		k.CreatedAt = s.env.Timing.Now()
		s.model.KeyPairs.Put(tx, k)
		v := keyPairView(c, k, false)
		v["user_id"] = k.UserID
		if private != "" {
			v["private_key"] = private
		}
		status := http.StatusOK
		if c.Version.AtLeast(2, 2) {
			status = http.StatusCreated
		}
		return c.Reply(status, map[string]any{"keypair": v})
	})
}
