package network

import (
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// isAdmin reports whether the caller is an administrator. A nil principal is
// the cloud itself.
func isAdmin(p *api.Principal) bool { return p == nil || p.Admin() }

// owns reports whether something of the project is the caller's.
func owns(p *api.Principal, projectID string) bool { return p == nil || p.Owns(projectID) }

// attribute is a part of a request that has a policy of its own.
type attribute struct {
	name string
	set  bool
}

// adminOnly refuses attributes that only administrators may set.
func adminOnly(p *api.Principal, action string, attributes ...attribute) error {
	return privileged(isAdmin(p), action, attributes...)
}

// privileged refuses attributes that the caller may not set.
func privileged(allowed bool, action string, attributes ...attribute) error {
	if allowed {
		return nil
	}
	var refused []string
	for _, a := range attributes {
		if a.set {
			refused = append(refused, "rule:"+action+":"+a.name)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return disallowed("(rule:" + action + " and " + strings.Join(refused, " and ") + ")")
}

func disallowed(rule string) error {
	return api.Errorf(http.StatusForbidden, "PolicyNotAuthorized", "%s is disallowed by policy", rule)
}
