package api

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/pattern"
)

// admit finds the caller and the microversion, and refuses callers without the right to call.
func (s *Server) admit(c *Call, role Role) error {
	if err := s.identify(c, role); err != nil {
		return err
	}
	if m := c.Service.Microversions; m != nil {
		version, err := m.negotiate(c.Request.Header)
		if err == nil || err.Status != http.StatusBadRequest {
			m.answer(c.Writer.Header(), version)
		}
		if err != nil {
			return err
		}
		c.Version = version
	}
	if !role.allows(c.Principal) {
		return Forbidden("You are not authorized to perform the requested action.")
	}
	return nil
}

func (s *Server) identify(c *Call, role Role) error {
	token := c.Request.Header.Get("X-Auth-Token")
	if token == "" || role == Public {
		if role != Public {
			return Unauthorized()
		}
		return nil
	}
	p, err := s.authenticate(token)
	if err != nil || s.env.Faults.Hit(faultinject.TokenExpiry, c.Service.Type, p.User.Name) {
		return Unauthorized()
	}
	if !permitted(p.AccessRules, c.Service, c.Request) {
		return Unauthorized() // what keystonemiddleware answers here
	}
	c.Principal = p
	return nil
}

// permitted applies the access rules of an application credential. A rule's path begins below the
// service's address ("/v2.1/servers"), or at the root of a cloud whose services are all below one
// root.
func permitted(rules *[]model.AccessRule, service *Service, r *http.Request) bool {
	if rules == nil {
		return true
	}
	below, _ := service.below(r.URL.Path)
	for _, rule := range *rules {
		if rule.Service == service.Type && rule.Method == r.Method &&
			(pattern.Match(rule.Path, below) || pattern.Match(rule.Path, r.URL.Path)) {
			return true
		}
	}
	return false
}
