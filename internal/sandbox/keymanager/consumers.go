package keymanager

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) consumerRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v1/containers/{id}/consumers", Role: api.Reader, Handle: s.listContainerConsumers},
		{Pattern: "POST /v1/containers/{id}/consumers", Role: api.Member, Handle: s.addContainerConsumer},
		{Pattern: "DELETE /v1/containers/{id}/consumers", Role: api.Member, Handle: s.removeContainerConsumer},
		{Pattern: "GET /v1/secrets/{id}/consumers", Role: api.Reader, Handle: s.listSecretConsumers},
		{Pattern: "POST /v1/secrets/{id}/consumers", Role: api.Member, Handle: s.addSecretConsumer},
		{Pattern: "DELETE /v1/secrets/{id}/consumers", Role: api.Member, Handle: s.removeSecretConsumer},
	}
}

// consumerView is a consumer of a container in a list.
type consumerView struct {
	Name    string `json:"name"`
	URL     string `json:"URL"`
	Status  string `json:"status"`
	Created string `json:"created"`
	Updated string `json:"updated"`
}

func (s *service) listContainerConsumers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.container(c, r, "consumer retrieval", mayRead)
		if err != nil {
			return err
		}
		var found []consumerView
		for _, consumer := range v.Consumers {
			if (c.Query("name") == "" || c.Query("name") == consumer.Name) && (c.Query("url") == "" || c.Query("url") == consumer.URL) {
				found = append(found, consumerView{consumer.Name, consumer.URL, "ACTIVE", consumer.Created, consumer.Created})
			}
		}
		return page(c, "consumers", found)
	})
}

// editConsumers changes who uses a container, and answers with it.
func (s *service) editConsumers(c *api.Call, edit func(tx *store.Tx, v *model.SecretContainer, in model.ContainerConsumer) error) error {
	var in model.ContainerConsumer
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.Name == "" {
		return mismatch("Consumer", "name", "'name' is a required property")
	}
	if in.URL == "" {
		return mismatch("Consumer", "URL", "'URL' is a required property")
	}
	in.Created = s.now()
	return c.Update(func(tx *store.Tx) error {
		v, err := s.container(c, tx, "consumer update", mayDelete)
		if err != nil {
			return err
		}
		v.Consumers = slices.Clone(v.Consumers)
		if err := edit(tx, &v, in); err != nil {
			return err
		}
		s.model.Containers.Put(tx, v)
		return c.Reply(http.StatusOK, newContainerView(c, v))
	})
}

func sameConsumer(in model.ContainerConsumer) func(model.ContainerConsumer) bool {
	return func(other model.ContainerConsumer) bool { return other.Name == in.Name && other.URL == in.URL }
}

func (s *service) addContainerConsumer(c *api.Call) error {
	return s.editConsumers(c, func(tx *store.Tx, v *model.SecretContainer, in model.ContainerConsumer) error {
		if slices.ContainsFunc(v.Consumers, sameConsumer(in)) {
			return nil // registering twice is once
		}
		used := 0
		for other := range s.model.ContainersOf.Each(tx, v.ProjectID) {
			used += len(other.Consumers)
		}
		v.Consumers = append(v.Consumers, in)
		return s.exceeded(c, tx, "consumers", used)
	})
}

func (s *service) removeContainerConsumer(c *api.Call) error {
	return s.editConsumers(c, func(_ *store.Tx, v *model.SecretContainer, in model.ContainerConsumer) error {
		i := slices.IndexFunc(v.Consumers, sameConsumer(in))
		if i < 0 {
			return notFound("consumer")
		}
		v.Consumers = slices.Delete(v.Consumers, i, i+1)
		return nil
	})
}

func (s *service) listSecretConsumers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.secret(c, r, "consumer retrieval", mayRead)
		if err != nil {
			return err
		}
		return page(c, "consumers", v.Consumers)
	})
}

// editSecretConsumers changes who needs a secret, and answers with it.
func (s *service) editSecretConsumers(c *api.Call, edit func(v *model.Secret, in model.SecretConsumer) error) error {
	var in model.SecretConsumer
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.Service == "" || in.ResourceType == "" || in.ResourceID == "" {
		return mismatch("Secret Consumer", "service", "'service', 'resource_type' and 'resource_id' are required properties")
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.secret(c, tx, "consumer update", mayDelete)
		if err != nil {
			return err
		}
		v.Consumers = slices.Clone(v.Consumers)
		if err := edit(&v, in); err != nil {
			return err
		}
		s.model.Secrets.Put(tx, v)
		return c.Reply(http.StatusOK, newSecretView(c, v))
	})
}

func (s *service) addSecretConsumer(c *api.Call) error {
	return s.editSecretConsumers(c, func(v *model.Secret, in model.SecretConsumer) error {
		if !slices.Contains(v.Consumers, in) {
			v.Consumers = append(v.Consumers, in)
		}
		return nil
	})
}

func (s *service) removeSecretConsumer(c *api.Call) error {
	return s.editSecretConsumers(c, func(v *model.Secret, in model.SecretConsumer) error {
		i := slices.Index(v.Consumers, in)
		if i < 0 {
			return notFound("secret consumer")
		}
		v.Consumers = slices.Delete(v.Consumers, i, i+1)
		return nil
	})
}
