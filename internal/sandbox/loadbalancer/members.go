package loadbalancer

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// memberChange is what an update may change.
type memberChange struct {
	lifeInput
	Weight         api.Optional[int]    `json:"weight"`
	Backup         api.Optional[bool]   `json:"backup"`
	MonitorAddress api.Optional[string] `json:"monitor_address"`
	MonitorPort    api.Optional[int]    `json:"monitor_port"`
}

// memberInput is a member to create.
type memberInput struct {
	memberChange
	Address      string               `json:"address"`
	ProtocolPort api.Optional[int]    `json:"protocol_port"`
	SubnetID     api.Optional[string] `json:"subnet_id"`
	VNIC         api.Optional[bool]   `json:"request_sriov"`
	ProjectID    api.Optional[string] `json:"project_id"`
	TenantID     api.Optional[string] `json:"tenant_id"`
}

func (s *service) memberRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /pools/{id}/members", Role: api.Reader, Handle: s.listMembers},
		{Pattern: "POST /pools/{id}/members", Role: api.Member, Handle: s.createMember},
		{Pattern: "PUT /pools/{id}/members", Role: api.Member, Handle: s.replaceMembers},
		{Pattern: "GET /pools/{id}/members/{member}", Role: api.Reader, Handle: s.showMember},
		{Pattern: "PUT /pools/{id}/members/{member}", Role: api.Member, Handle: s.updateMember},
		{Pattern: "DELETE /pools/{id}/members/{member}", Role: api.Member, Handle: s.deleteMember},
	}
}

// member finds the pool and the member of a path.
func (s *service) member(c *api.Call, r store.Reader) (model.Pool, model.Member, error) {
	p, err := s.pool(c, r, c.Path("id"))
	if err != nil {
		return p, model.Member{}, err
	}
	m, ok := s.model.Members.Get(r, c.Path("member"))
	if !ok || m.PoolID != p.ID {
		return p, m, api.NotFound("Member %s not found.", c.Path("member"))
	}
	return p, m, nil
}

func (s *service) listMembers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		p, err := s.pool(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		life := func(v model.MemberAttributes) model.Life { return v.Life }
		return list("members", life, nil).Reply(c, func(yield func(model.MemberAttributes) bool) {
			for m := range s.model.MembersOf.Each(r, p.ID) {
				if !yield(m.MemberAttributes) {
					return
				}
			}
		})
	})
}

func (s *service) showMember(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		_, m, err := s.member(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"member": api.Select(c, m.MemberAttributes)})
	})
}

func (s *service) createMember(c *api.Call) error {
	var in memberInput
	if err := decodeIn(c, "member", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		p, err := s.pool(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if err := s.checkSubnet(c, tx, in); err != nil {
			return err
		}
		if err := s.lock(tx, p.LoadBalancerID); err != nil {
			return err
		}
		m, err := s.putMember(tx, p, in)
		if err != nil {
			return err
		}
		s.touchPool(tx, p.ID)
		return c.Reply(http.StatusCreated, map[string]any{"member": m.MemberAttributes})
	})
}

func (s *service) checkSubnet(c *api.Call, r store.Reader, in memberInput) error {
	id := in.SubnetID.Or("")
	if id == "" {
		return nil
	}
	if _, err := s.ports.Subnet(r, c.Principal, id); err != nil {
		return missingPart("Subnet", id)
	}
	return nil
}

// putMember checks and adds a member.
func (s *service) putMember(tx *store.Tx, p model.Pool, in memberInput) (model.Member, error) {
	m := model.Member{PoolID: p.ID, MemberAttributes: model.MemberAttributes{Life: s.newLife(p.ProjectID),
		Address: in.Address, ProtocolPort: in.ProtocolPort.Value, Weight: 1}}
	m.OperatingStatus = noMonitor
	setPointer(&m.SubnetID, in.SubnetID)
	if err := firstError(in.check(), in.apply(&m)); err != nil {
		return m, err
	}
	for other := range s.model.MembersOf.Each(tx, p.ID) {
		if other.Address == m.Address && other.ProtocolPort == m.ProtocolPort {
			return m, duplicateMember(in)
		}
	}
	if err := s.exceeded(tx, p.ProjectID, "member", "Member", s.used(tx, p.ProjectID).members, 1); err != nil {
		return m, err
	}
	s.model.Members.Put(tx, m)
	return m, nil
}

func duplicateMember(in memberInput) error {
	return api.Conflict("Another member on this pool is already using ip %s on protocol_port %d", in.Address, in.ProtocolPort.Value)
}

// check refuses what no member can be.
func (in memberInput) check() error {
	if in.Address == "" {
		return required("address")
	}
	return firstError(address("address", in.Address), portNumber("protocol_port", in.ProtocolPort))
}

func (in memberChange) apply(m *model.Member) error {
	set(&m.Weight, in.Weight, 1)
	set(&m.Backup, in.Backup, false)
	setPointer(&m.MonitorAddress, in.MonitorAddress)
	setPointer(&m.MonitorPort, in.MonitorPort)
	if m.MonitorAddress != nil {
		if err := address("monitor_address", *m.MonitorAddress); err != nil {
			return err
		}
	}
	if m.MonitorPort != nil {
		if err := portNumber("monitor_port", api.Optional[int]{Set: true, Value: *m.MonitorPort}); err != nil {
			return err
		}
	}
	return firstError(in.lifeInput.apply(&m.Life), between("weight", m.Weight, 0, 256))
}

func (s *service) updateMember(c *api.Call) error {
	var in memberChange
	if err := decodeIn(c, "member", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		p, m, err := s.member(c, tx)
		if err != nil {
			return err
		}
		if err := s.lock(tx, p.LoadBalancerID); err != nil {
			return err
		}
		if err := in.apply(&m); err != nil {
			return err
		}
		s.touch(&m.Life, pendingUpdate)
		s.model.Members.Put(tx, m)
		s.touchPool(tx, p.ID)
		return c.Reply(http.StatusOK, map[string]any{"member": m.MemberAttributes})
	})
}

func (s *service) deleteMember(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		p, m, err := s.member(c, tx)
		if err != nil {
			return err
		}
		if err := s.lock(tx, p.LoadBalancerID); err != nil {
			return err
		}
		s.touch(&m.Life, pendingDelete)
		s.model.Members.Put(tx, m)
		s.touchPool(tx, p.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
