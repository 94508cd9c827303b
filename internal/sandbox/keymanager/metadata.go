package keymanager

import (
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) metadataRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v1/secrets/{id}/metadata", Role: api.Reader, Handle: s.getMetadata},
		{Pattern: "PUT /v1/secrets/{id}/metadata", Role: api.Member, Handle: s.putMetadata},
		{Pattern: "POST /v1/secrets/{id}/metadata", Role: api.Member, Handle: s.addMetadatum},
		{Pattern: "GET /v1/secrets/{id}/metadata/{key}", Role: api.Reader, Handle: s.getMetadatum},
		{Pattern: "PUT /v1/secrets/{id}/metadata/{key}", Role: api.Member, Handle: s.putMetadatum},
		{Pattern: "DELETE /v1/secrets/{id}/metadata/{key}", Role: api.Member, Handle: s.deleteMetadatum},
	}
}

type metadatum struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (s *service) getMetadata(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.secret(c, r, "metadata retrieval", mayRead)
		if err != nil {
			return err
		}
		if v.Metadata == nil {
			v.Metadata = map[string]string{}
		}
		return c.Reply(http.StatusOK, map[string]any{"metadata": v.Metadata})
	})
}

func (s *service) putMetadata(c *api.Call) error {
	var in struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.Metadata == nil {
		return mismatch("SecretMetadata", "metadata", "'metadata' is a required property")
	}
	lower := map[string]string{}
	for key, value := range in.Metadata {
		lower[strings.ToLower(key)] = value
	}
	return s.editMetadata(c, func(v *model.Secret) error {
		v.Metadata = lower
		return c.Reply(http.StatusCreated, map[string]string{"metadata_ref": secretURL(c, v.ID) + "/metadata"})
	})
}

// editMetadata changes a secret's metadata in one transaction.
func (s *service) editMetadata(c *api.Call, edit func(v *model.Secret) error) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.secret(c, tx, "metadata update", mayDelete)
		if err != nil {
			return err
		}
		s.model.Secrets.Change(tx, v.ID, func(v *model.Secret) {
			if v.Metadata == nil {
				v.Metadata = map[string]string{}
			}
			err = edit(v)
		})
		return err
	})
}

func (s *service) addMetadatum(c *api.Call) error {
	var in metadatum
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.Key == "" {
		return mismatch("SecretMetadatum", "key", "'key' is a required property")
	}
	in.Key = strings.ToLower(in.Key)
	return s.editMetadata(c, func(v *model.Secret) error {
		if _, taken := v.Metadata[in.Key]; taken {
			return api.Conflict("Conflict. Key in request is already in the secret metadata")
		}
		v.Metadata[in.Key] = in.Value
		c.Writer.Header().Set("Location", secretURL(c, v.ID)+"/metadata/"+in.Key)
		return c.Reply(http.StatusCreated, in)
	})
}

func (s *service) getMetadatum(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.secret(c, r, "metadata retrieval", mayRead)
		if err != nil {
			return err
		}
		key := strings.ToLower(c.Path("key"))
		value, ok := v.Metadata[key]
		if !ok {
			return notFound("secret metadata")
		}
		return c.Reply(http.StatusOK, metadatum{key, value})
	})
}

func (s *service) putMetadatum(c *api.Call) error {
	var in metadatum
	if err := c.Decode(&in); err != nil {
		return err
	}
	in.Key = strings.ToLower(in.Key)
	if in.Key != strings.ToLower(c.Path("key")) {
		return api.BadRequest("Key in request does not match key in the request url")
	}
	return s.editMetadata(c, func(v *model.Secret) error {
		if _, ok := v.Metadata[in.Key]; !ok {
			return notFound("secret metadata")
		}
		v.Metadata[in.Key] = in.Value
		return c.Reply(http.StatusOK, in)
	})
}

func (s *service) deleteMetadatum(c *api.Call) error {
	return s.editMetadata(c, func(v *model.Secret) error {
		key := strings.ToLower(c.Path("key"))
		if _, ok := v.Metadata[key]; !ok {
			return notFound("secret metadata")
		}
		delete(v.Metadata, key)
		return c.Reply(http.StatusNoContent, nil)
	})
}
