package keymanager

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// secretView is a secret as clients see it: all but its payload.
type secretView struct {
	Algorithm    *string                `json:"algorithm"`
	BitLength    *int                   `json:"bit_length"`
	ContentTypes map[string]string      `json:"content_types,omitempty"`
	Created      string                 `json:"created"`
	Updated      string                 `json:"updated"`
	CreatorID    string                 `json:"creator_id"`
	Expiration   *string                `json:"expiration"`
	Mode         *string                `json:"mode"`
	Name         string                 `json:"name"`
	Ref          string                 `json:"secret_ref"`
	Type         string                 `json:"secret_type"`
	Status       string                 `json:"status"`
	Consumers    []model.SecretConsumer `json:"consumers"`
}

func secretURL(c *api.Call, id string) string { return c.URL("/v1/secrets/" + id) }

func newSecretView(c *api.Call, v model.Secret) secretView {
	view := secretView{Algorithm: v.Algorithm, BitLength: v.BitLength, Created: v.Created, Updated: v.Updated, CreatorID: v.CreatorID,
		Expiration: v.Expiration, Mode: v.Mode, Name: named(v.KeyMeta), Ref: secretURL(c, v.ID), Type: v.Type, Status: v.Status,
		Consumers: append([]model.SecretConsumer{}, v.Consumers...)}
	if len(v.Sealed) > 0 {
		view.ContentTypes = map[string]string{"default": v.ContentType}
	}
	return view
}

func (s *service) secretRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v1/secrets", Role: api.Reader, Handle: s.listSecrets},
		{Pattern: "POST /v1/secrets", Role: api.Member, Handle: s.createSecret},
		{Pattern: "GET /v1/secrets/{id}", Role: api.Token, Handle: s.showSecret},
		{Pattern: "PUT /v1/secrets/{id}", Role: api.Member, Handle: s.putPayload},
		{Pattern: "DELETE /v1/secrets/{id}", Role: api.Member, Handle: s.deleteSecret},
	}
}

// expired secrets are as good as gone.
func (s *service) expired(v model.Secret) bool {
	return v.Expiration != nil && *v.Expiration <= s.now()
}

// secret finds a secret; a caller without the right to it is refused.
func (s *service) secret(c *api.Call, r store.Reader, action string, may func(c *api.Call, m model.KeyMeta, acl *model.KeyACL) bool) (model.Secret, error) {
	v, ok := s.model.Secrets.Get(r, c.Path("id"))
	switch {
	case !ok || s.expired(v):
		return model.Secret{}, notFound("secret")
	case !may(c, v.KeyMeta, v.ACL):
		return model.Secret{}, denied("Secret", action)
	}
	return v, nil
}

// createInput is a secret to store, with its payload or without.
type createInput struct {
	Name       string  `json:"name"`
	Algorithm  *string `json:"algorithm"`
	BitLength  *int    `json:"bit_length"`
	Mode       *string `json:"mode"`
	Type       string  `json:"secret_type"`
	Expiration *string `json:"expiration"`
	payloadInput
}

func secretTypes() []string {
	return []string{"symmetric", "public", "private", "passphrase", "certificate", "opaque"}
}

func (s *service) createSecret(c *api.Call) error {
	var in createInput
	if err := c.Decode(&in); err != nil {
		return err
	}
	v := model.Secret{KeyMeta: s.newMeta(c, in.Name), Algorithm: in.Algorithm, BitLength: in.BitLength, Mode: in.Mode, Type: in.Type}
	if v.Type == "" {
		v.Type = "opaque"
	}
	if !slices.Contains(secretTypes(), v.Type) {
		return mismatch("Secret", "secret_type", "'%s' is not one of %v", v.Type, secretTypes())
	}
	if v.BitLength != nil && (*v.BitLength < 1 || *v.BitLength > 32767) {
		return mismatch("Secret", "bit_length", "%d is not between 1 and 32767", *v.BitLength)
	}
	if err := s.expire(&v, in.Expiration); err != nil {
		return err
	}
	payload, err := in.read()
	if err != nil {
		return err
	}
	if err := s.fill(&v, in.ContentType, payload); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		if err := s.exceeded(c, tx, "secrets", s.model.SecretsOf.Count(tx, c.Principal.ProjectID)); err != nil {
			return err
		}
		s.model.Secrets.Put(tx, v)
		c.Writer.Header().Set("Location", secretURL(c, v.ID))
		return c.Reply(http.StatusCreated, map[string]string{"secret_ref": secretURL(c, v.ID)})
	})
}

func (s *service) showSecret(c *api.Call) error {
	var v model.Secret
	err := c.View(func(r store.Reader) (err error) {
		v, err = s.secret(c, r, "retrieval", mayRead)
		return err
	})
	if err != nil {
		return err
	}
	accept := c.Request.Header.Get("Accept")
	if accept == "text/plain" || accept == octets {
		return s.writePayload(c, v) // the way before there was /payload
	}
	return c.Reply(http.StatusOK, newSecretView(c, v))
}

func (s *service) deleteSecret(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.secret(c, tx, "deletion", mayDelete)
		if err != nil {
			return err
		}
		s.model.Secrets.Delete(tx, v.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (s *service) listSecrets(c *api.Call) error {
	filters, err := secretFilters(c)
	if err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		var found []secretView
		for v := range s.visibleSecrets(c, r) {
			view := newSecretView(c, v)
			if !s.expired(v) && !slices.ContainsFunc(filters, func(fits func(secretView) bool) bool { return !fits(view) }) {
				found = append(found, view)
			}
		}
		if err := sorted(c, found); err != nil {
			return err
		}
		return page(c, "secrets", found)
	})
}

// visibleSecrets are the project's, or with acl_only those of others that the
// caller was given.
func (s *service) visibleSecrets(c *api.Call, r store.Reader) func(yield func(model.Secret) bool) {
	others := strings.EqualFold(c.Query("acl_only"), "true")
	return func(yield func(model.Secret) bool) {
		if others {
			for v := range s.model.Secrets.All(r) {
				if v.ACL != nil && slices.Contains(v.ACL.Users, c.Principal.UserID()) && !yield(v) {
					return
				}
			}
			return
		}
		for v := range s.model.SecretsOf.Each(r, c.Principal.ProjectID) {
			if mayRead(c, v.KeyMeta, v.ACL) && !yield(v) {
				return
			}
		}
	}
}

// secretFilters reads the query of a list.
func secretFilters(c *api.Call) ([]func(secretView) bool, error) {
	var filters []func(secretView) bool
	equal := func(parameter string, value func(secretView) string) {
		if asked := c.Query(parameter); asked != "" {
			filters = append(filters, func(v secretView) bool { return strings.EqualFold(value(v), asked) })
		}
	}
	if asked := c.Query("name"); asked != "" {
		filters = append(filters, func(v secretView) bool { return v.Name == asked })
	}
	equal("alg", func(v secretView) string { return text(v.Algorithm) })
	equal("mode", func(v secretView) string { return text(v.Mode) })
	equal("secret_type", func(v secretView) string { return v.Type })
	if bits := c.Query("bits"); bits != "" && bits != "0" {
		equal("bits", func(v secretView) string {
			if v.BitLength == nil {
				return ""
			}
			return strconv.Itoa(*v.BitLength)
		})
	}
	for parameter, value := range map[string]func(secretView) string{
		"created": func(v secretView) string { return v.Created }, "updated": func(v secretView) string { return v.Updated },
		"expiration": func(v secretView) string { return text(v.Expiration) }} {
		fits, err := dateFilter(parameter, c.Query(parameter))
		if err != nil {
			return nil, err
		}
		if fits != nil {
			filters = append(filters, func(v secretView) bool { return fits(value(v)) })
		}
	}
	return filters, nil
}

func text(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}
