package api

import (
	"net/http"
	"slices"
	"strings"
)

// pathOf is the path of an address, exactly as it is written there.
func pathOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

// corsHeaders are what browsers may send and see: Magnum's defaults.
const (
	corsAllowed = "Content-Type, Cache-Control, Content-Language, Expires, Last-Modified, Pragma, X-Auth-Token, X-Identity-Status, X-Roles, " +
		"X-Service-Catalog, X-User-Id, X-Tenant-Id, X-OpenStack-Request-ID, X-Server-Management-Url, OpenStack-API-Version"
	corsExposed = "X-Auth-Token, X-Subject-Token, X-Service-Token, X-OpenStack-Request-ID, X-Server-Management-Url, " +
		"OpenStack-API-Version, OpenStack-API-Minimum-Version, OpenStack-API-Maximum-Version"
	corsMethods = "GET, PUT, POST, DELETE, PATCH"
)

// cors admits browsers from chosen origins; true means that the request was a browser's preflight
// request and is answered.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || len(s.o.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if slices.Contains(s.o.Origins, "*") || slices.Contains(s.o.Origins, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", corsExposed)
		if preflight {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsAllowed)
			h.Set("Access-Control-Max-Age", "3600")
		}
	}
	if preflight {
		w.WriteHeader(http.StatusOK)
	}
	return preflight
}
