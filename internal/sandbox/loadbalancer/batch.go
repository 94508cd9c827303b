package loadbalancer

import (
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type endpoint struct {
	address string
	port    int
}

// replaceMembers makes the members of a pool those of the list: what has the
// address and port of one there is updated, what is new is added, and the
// others go unless the query says additive_only.
func (s *service) replaceMembers(c *api.Call) error {
	var wanted []memberInput
	if err := decodeIn(c, "members", &wanted); err != nil {
		return err
	}
	additive := strings.EqualFold(c.Query("additive_only"), "true")
	return c.Update(func(tx *store.Tx) error {
		p, err := s.pool(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if err := s.lock(tx, p.LoadBalancerID); err != nil {
			return err
		}
		present := map[endpoint]model.Member{}
		for m := range s.model.MembersOf.Each(tx, p.ID) {
			present[endpoint{m.Address, m.ProtocolPort}] = m
		}
		seen := map[endpoint]bool{}
		for _, in := range wanted {
			if err := firstError(in.check(), s.checkSubnet(c, tx, in)); err != nil {
				return err
			}
			at := endpoint{in.Address, in.ProtocolPort.Value}
			if seen[at] {
				return duplicateMember(in)
			}
			seen[at] = true
			if err := s.mergeMember(tx, p, present, at, in); err != nil {
				return err
			}
		}
		for at, m := range present {
			if !additive && !seen[at] {
				s.touch(&m.Life, pendingDelete)
				s.model.Members.Put(tx, m)
			}
		}
		s.touchPool(tx, p.ID)
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) mergeMember(tx *store.Tx, p model.Pool, present map[endpoint]model.Member, at endpoint, in memberInput) error {
	m, ok := present[at]
	if !ok {
		_, err := s.putMember(tx, p, in)
		return err
	}
	if err := in.apply(&m); err != nil {
		return err
	}
	s.touch(&m.Life, pendingUpdate)
	s.model.Members.Put(tx, m)
	return nil
}
