package keymanager

import (
	"net/http"
	"path"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type secretRef struct {
	Name string `json:"name"`
	Ref  string `json:"secret_ref"`
}

// containerView is a container as clients see it.
type containerView struct {
	Name      string                    `json:"name"`
	Type      string                    `json:"type"`
	Status    string                    `json:"status"`
	Ref       string                    `json:"container_ref"`
	Created   string                    `json:"created"`
	Updated   string                    `json:"updated"`
	CreatorID string                    `json:"creator_id"`
	Secrets   []secretRef               `json:"secret_refs"`
	Consumers []model.ContainerConsumer `json:"consumers"`
}

func containerURL(c *api.Call, id string) string { return c.URL("/v1/containers/" + id) }

func newContainerView(c *api.Call, v model.SecretContainer) containerView {
	view := containerView{Name: named(v.KeyMeta), Type: v.Type, Status: v.Status, Ref: containerURL(c, v.ID), Created: v.Created,
		Updated: v.Updated, CreatorID: v.CreatorID, Secrets: []secretRef{}, Consumers: append([]model.ContainerConsumer{}, v.Consumers...)}
	for _, secret := range v.Secrets {
		view.Secrets = append(view.Secrets, secretRef{secret.Name, secretURL(c, secret.SecretID)})
	}
	return view
}

func (s *service) containerRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v1/containers", Role: api.Reader, Handle: s.listContainers},
		{Pattern: "POST /v1/containers", Role: api.Member, Handle: s.createContainer},
		{Pattern: "GET /v1/containers/{id}", Role: api.Token, Handle: s.showContainer},
		{Pattern: "DELETE /v1/containers/{id}", Role: api.Member, Handle: s.deleteContainer},
		{Pattern: "POST /v1/containers/{id}/secrets", Role: api.Member, Handle: s.addSecret},
		{Pattern: "DELETE /v1/containers/{id}/secrets", Role: api.Member, Handle: s.removeSecret},
	}
}

func (s *service) container(c *api.Call, r store.Reader, action string, may func(c *api.Call, m model.KeyMeta, acl *model.KeyACL) bool) (model.SecretContainer, error) {
	v, ok := s.model.Containers.Get(r, c.Path("id"))
	switch {
	case !ok:
		return v, notFound("container")
	case !may(c, v.KeyMeta, v.ACL):
		return model.SecretContainer{}, denied("Container", action)
	}
	return v, nil
}

// refer turns the address of a secret into a named secret.
func (s *service) refer(c *api.Call, r store.Reader, in secretRef) (model.NamedSecret, error) {
	id := path.Base(in.Ref)
	v, ok := s.model.Secrets.Get(r, id)
	if !ok || s.expired(v) || !mayRead(c, v.KeyMeta, v.ACL) {
		return model.NamedSecret{}, api.NotFound("Secret provided for '%s' doesn't exist.", in.Name)
	}
	return model.NamedSecret{Name: in.Name, SecretID: id}, nil
}

// checkParts refuses names that a type of container does not have or needs.
func checkParts(kind string, secrets []secretRef) error {
	var names []string
	for _, secret := range secrets {
		if slices.Contains(names, secret.Name) && secret.Name != "" {
			return mismatch("Container", "secret_refs", "Duplicate reference names are not allowed")
		}
		names = append(names, secret.Name)
	}
	needed, allowed := []string{}, []string{}
	switch kind {
	case "generic":
		return nil
	case "rsa":
		needed, allowed = []string{"private_key", "public_key"}, []string{"private_key", "public_key", "private_key_passphrase"}
	case "certificate":
		needed, allowed = []string{"certificate"}, []string{"certificate", "private_key", "private_key_passphrase", "intermediates"}
	default:
		return mismatch("Container", "type", "'%s' is not one of ['generic', 'rsa', 'certificate']", kind)
	}
	if len(names) == 0 {
		return nil // Barbican's ContainerValidator asks for names only among references
	}
	for _, name := range names {
		if !slices.Contains(allowed, name) {
			return mismatch("Container", "secret_refs", "only %v reference names are allowed for %s type", allowed, kind)
		}
	}
	for _, name := range needed {
		if !slices.Contains(names, name) {
			return mismatch("Container", "secret_refs", "The minimum required reference names are %v for %s type", needed, kind)
		}
	}
	return nil
}

func (s *service) createContainer(c *api.Call) error {
	var in struct {
		Name    string      `json:"name"`
		Type    string      `json:"type"`
		Secrets []secretRef `json:"secret_refs"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	if err := checkParts(in.Type, in.Secrets); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v := model.SecretContainer{KeyMeta: s.newMeta(c, in.Name), Type: in.Type, Consumers: []model.ContainerConsumer{}}
		for _, ref := range in.Secrets {
			secret, err := s.refer(c, tx, ref)
			if err != nil {
				return err
			}
			v.Secrets = append(v.Secrets, secret)
		}
		if err := s.exceeded(c, tx, "containers", s.model.ContainersOf.Count(tx, c.Principal.ProjectID)); err != nil {
			return err
		}
		s.model.Containers.Put(tx, v)
		c.Writer.Header().Set("Location", containerURL(c, v.ID))
		return c.Reply(http.StatusCreated, map[string]string{"container_ref": containerURL(c, v.ID)})
	})
}

func (s *service) listContainers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		var found []containerView
		for v := range s.model.ContainersOf.Each(r, c.Principal.ProjectID) {
			name, kind := c.Query("name"), c.Query("type")
			if mayRead(c, v.KeyMeta, v.ACL) && (name == "" || name == v.Name) && (kind == "" || kind == v.Type) {
				found = append(found, newContainerView(c, v))
			}
		}
		return page(c, "containers", found)
	})
}

func (s *service) showContainer(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.container(c, r, "retrieval", mayRead)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, newContainerView(c, v))
	})
}

func (s *service) deleteContainer(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.container(c, tx, "deletion", mayDelete)
		if err != nil {
			return err
		}
		s.model.Containers.Delete(tx, v.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// editSecrets changes the secrets of a generic container.
func (s *service) editSecrets(c *api.Call, edit func(v *model.SecretContainer, secret model.NamedSecret) error) error {
	var in secretRef
	if err := c.Decode(&in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.container(c, tx, "update", mayDelete)
		if err != nil {
			return err
		}
		if v.Type != "generic" {
			return api.BadRequest("Only 'generic' containers can be modified.")
		}
		secret, err := s.refer(c, tx, in)
		if err != nil {
			return err
		}
		v.Secrets, v.Updated = slices.Clone(v.Secrets), s.now()
		if err := edit(&v, secret); err != nil {
			return err
		}
		s.model.Containers.Put(tx, v)
		return nil
	})
}

func (s *service) addSecret(c *api.Call) error {
	return s.editSecrets(c, func(v *model.SecretContainer, secret model.NamedSecret) error {
		if slices.ContainsFunc(v.Secrets, func(other model.NamedSecret) bool {
			return other.SecretID == secret.SecretID || other.Name == secret.Name && secret.Name != ""
		}) {
			return api.Conflict("Conflict. A secret with that name and ID is already stored in this container. The same secret can exist in a container as long as the name is unique.")
		}
		v.Secrets = append(v.Secrets, secret)
		return c.Reply(http.StatusCreated, map[string]string{"container_ref": containerURL(c, v.ID)})
	})
}

func (s *service) removeSecret(c *api.Call) error {
	return s.editSecrets(c, func(v *model.SecretContainer, secret model.NamedSecret) error {
		i := slices.IndexFunc(v.Secrets, func(other model.NamedSecret) bool {
			return other.SecretID == secret.SecretID && (secret.Name == "" || other.Name == secret.Name)
		})
		if i < 0 {
			return notFound("secret container")
		}
		v.Secrets = slices.Delete(v.Secrets, i, i+1)
		return c.Reply(http.StatusNoContent, nil)
	})
}
