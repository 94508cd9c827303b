package keymanager

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func orderURL(c *api.Call, id string) string { return c.URL("/v1/orders/" + id) }

func orderView(c *api.Call, o model.KeyOrder) map[string]any {
	v := map[string]any{"order_ref": orderURL(c, o.ID), "type": o.Type, "status": o.Status, "meta": o.Meta, "creator_id": o.CreatorID,
		"created": o.Created, "updated": o.Updated, "sub_status": "Unknown", "sub_status_message": "Unknown"}
	if o.SecretID != "" {
		v["secret_ref"] = secretURL(c, o.SecretID)
	}
	if o.ContainerID != "" {
		v["container_ref"] = containerURL(c, o.ContainerID)
	}
	return v
}

func (s *service) orderRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v1/orders", Role: api.Reader, Handle: s.listOrders},
		{Pattern: "POST /v1/orders", Role: api.Member, Handle: s.createOrder},
		{Pattern: "GET /v1/orders/{id}", Role: api.Reader, Handle: s.showOrder},
		{Pattern: "DELETE /v1/orders/{id}", Role: api.Member, Handle: s.deleteOrder},
	}
}

func (s *service) order(c *api.Call, r store.Reader) (model.KeyOrder, error) {
	o, ok := s.model.Orders.Get(r, c.Path("id"))
	if !ok || !c.Principal.Owns(o.ProjectID) {
		return o, notFound("order")
	}
	return o, nil
}

func (s *service) listOrders(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		var found []map[string]any
		for o := range s.model.OrdersOf.Each(r, c.Principal.ProjectID) {
			found = append(found, orderView(c, o))
		}
		return page(c, "orders", found)
	})
}

func (s *service) showOrder(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		o, err := s.order(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, orderView(c, o))
	})
}

func (s *service) deleteOrder(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		o, err := s.order(c, tx)
		if err != nil {
			return err
		}
		s.model.Orders.Delete(tx, o.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// orderMeta is what is to be made.
type orderMeta struct {
	Name        string  `json:"name"`
	Algorithm   string  `json:"algorithm"`
	BitLength   int     `json:"bit_length"`
	Mode        *string `json:"mode"`
	Expiration  *string `json:"expiration"`
	ContentType *string `json:"payload_content_type"`
	Passphrase  string  `json:"pass_phrase"`
}

// createOrder makes the keys before it answers: it takes milliseconds, and
// the order is ACTIVE when it is first seen.
func (s *service) createOrder(c *api.Call) error {
	var in struct {
		Type string         `json:"type"`
		Meta map[string]any `json:"meta"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	if !slices.Contains([]string{"key", "asymmetric"}, in.Type) {
		return mismatch("Order", "type", "'%s' is not one of ['key', 'asymmetric']", in.Type)
	}
	meta, err := readMeta(in.Meta)
	if err != nil {
		return err
	}
	o := model.KeyOrder{KeyMeta: s.newMeta(c, ""), Type: in.Type, Meta: in.Meta}
	delete(o.Meta, "pass_phrase")
	made, err := s.make(c, in.Type, meta)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		project := c.Principal.ProjectID
		if err := s.exceeded(c, tx, "orders", s.model.OrdersOf.Count(tx, project)); err != nil {
			return err
		}
		if err := s.exceeded(c, tx, "secrets", s.model.SecretsOf.Count(tx, project)+len(made)-1); err != nil {
			return err
		}
		for _, secret := range made {
			s.model.Secrets.Put(tx, secret.record)
		}
		if in.Type == "key" {
			o.SecretID = made[0].record.ID
		} else {
			box := s.boxed(c, meta, made)
			s.model.Containers.Put(tx, box)
			o.ContainerID = box.ID
		}
		s.model.Orders.Put(tx, o)
		return c.Reply(http.StatusAccepted, map[string]string{"order_ref": orderURL(c, o.ID)})
	})
}

// boxed is the container of a key pair.
func (s *service) boxed(c *api.Call, meta orderMeta, made []part) model.SecretContainer {
	box := model.SecretContainer{KeyMeta: s.newMeta(c, meta.Name), Type: "rsa", Consumers: []model.ContainerConsumer{}}
	for _, secret := range made {
		box.Secrets = append(box.Secrets, model.NamedSecret{Name: secret.name, SecretID: secret.record.ID})
	}
	return box
}
