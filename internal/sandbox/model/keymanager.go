package model

import "github.com/slipway-sh/slipway/internal/sandbox/store"

// KeyTime is how Barbican writes times: UTC without a zone.
const KeyTime = "2006-01-02T15:04:05.000000"

// KeyMeta is what secrets, containers and orders have. Created and Updated
// are in the form of KeyTime.
type KeyMeta struct {
	ID        string `json:"id"`
	ProjectID string `json:"project_id"`
	CreatorID string `json:"creator_id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Created   string `json:"created"`
	Updated   string `json:"updated"`
}

// Secret is a secret. Sealed is its payload, encrypted; empty is none.
type Secret struct {
	KeyMeta
	Algorithm   *string           `json:"algorithm"`
	BitLength   *int              `json:"bit_length"`
	Mode        *string           `json:"mode"`
	Type        string            `json:"secret_type"`
	Expiration  *string           `json:"expiration"`
	ContentType string            `json:"content_type"`
	Sealed      []byte            `json:"sealed,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Consumers   []SecretConsumer  `json:"consumers,omitempty"`
	ACL         *KeyACL           `json:"acl,omitempty"`
}

// SecretConsumer is a resource of another service that needs a secret.
type SecretConsumer struct {
	Service      string `json:"service"`
	ResourceType string `json:"resource_type"`
	ResourceID   string `json:"resource_id"`
}

// KeyACL says who may read besides, and whether the project may.
type KeyACL struct {
	Users         []string `json:"users"`
	ProjectAccess bool     `json:"project-access"`
	Created       string   `json:"created"`
	Updated       string   `json:"updated"`
}

// SecretContainer groups secrets under names.
type SecretContainer struct {
	KeyMeta
	Type      string              `json:"type"`
	Secrets   []NamedSecret       `json:"secrets"`
	Consumers []ContainerConsumer `json:"consumers"`
	ACL       *KeyACL             `json:"acl,omitempty"`
}

// NamedSecret is a secret in a container.
type NamedSecret struct {
	Name     string `json:"name"`
	SecretID string `json:"secret_id"`
}

// ContainerConsumer is who uses a container.
type ContainerConsumer struct {
	Name    string `json:"name"`
	URL     string `json:"URL"`
	Created string `json:"created"`
}

// KeyOrder asked for keys to be made; SecretID or ContainerID is the result.
type KeyOrder struct {
	KeyMeta
	Type        string         `json:"type"`
	Meta        map[string]any `json:"meta"`
	SecretID    string         `json:"secret_id,omitempty"`
	ContainerID string         `json:"container_id,omitempty"`
}

// Keys is the tables of Barbican.
type Keys struct {
	Secrets      *store.Table[Secret]
	SecretsOf    *store.Index[Secret] // by project
	Containers   *store.Table[SecretContainer]
	ContainersOf *store.Index[SecretContainer]
	Orders       *store.Table[KeyOrder]
	OrdersOf     *store.Index[KeyOrder]
}

func newKeys(s *store.Store) Keys {
	m := Keys{
		Secrets:    store.NewTable(s, "keymanager.secrets", func(v Secret) string { return v.ID }),
		Containers: store.NewTable(s, "keymanager.containers", func(v SecretContainer) string { return v.ID }),
		Orders:     store.NewTable(s, "keymanager.orders", func(v KeyOrder) string { return v.ID }),
	}
	m.SecretsOf = m.Secrets.Index(func(v Secret) string { return v.ProjectID })
	m.ContainersOf = m.Containers.Index(func(v SecretContainer) string { return v.ProjectID })
	m.OrdersOf = m.Orders.Index(func(v KeyOrder) string { return v.ProjectID })
	return m
}
