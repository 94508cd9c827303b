// Package model is the cloud that the sandbox simulates, as plain records in
// tables. A field's JSON name is the attribute's name in the service's API
// wherever it has one, which makes it filterable, sortable and selectable.
package model

import (
	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Model is every table of the cloud, a struct of tables for each service.
type Model struct {
	Identity      Identity
	Quotas        Quotas
	Image         Images
	Network       Networking
	Volume        Volumes
	Compute       Compute
	Placement     Placement
	LoadBalancing LoadBalancing
	Keys          Keys
	Objects       ObjectStorage
}

// New adds the tables of all services to the store and loads them.
func New(s *store.Store) (*Model, error) {
	m := &Model{
		Identity:      newIdentity(s),
		Quotas:        newQuotas(s),
		Image:         newImages(s),
		Network:       newNetworking(s),
		Volume:        newVolumes(s),
		Compute:       newCompute(s),
		Placement:     newPlacement(s),
		LoadBalancing: newLoadBalancing(s),
		Keys:          newKeys(s),
		Objects:       newObjectStorage(s),
	}
	return m, s.Ready()
}

// NewID returns a new UUID with dashes, as all services but Keystone use.
func NewID() string { return uuid.NewString() }

// NewKeyID returns a new UUID without dashes, as Keystone uses for its own.
func NewKeyID() string {
	id := uuid.New()
	const digits = "0123456789abcdef"
	text := make([]byte, 0, 32)
	for _, b := range id {
		text = append(text, digits[b>>4], digits[b&15])
	}
	return string(text)
}
