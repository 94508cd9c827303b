package api

import (
	"net/http"
	"slices"
	"strings"
)

// baseOf is the address a client used, without /v1 and a slash at the end, for
// links: the operator's public endpoint, else what a trusted proxy says
// (RFC 7239 and X-Forwarded-*), else the request's own.
func (s *Server) baseOf(r *http.Request) string {
	if s.public != "" {
		return s.public
	}
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if s.o.TrustForwarded {
		h := r.Header
		forwarded := parseForwarded(h.Get("Forwarded"))
		scheme = firstOf(forwarded["proto"], firstValue(h.Get("X-Forwarded-Proto")), scheme)
		host = firstOf(forwarded["host"], firstValue(h.Get("X-Forwarded-Host")), host)
		if port := firstValue(h.Get("X-Forwarded-Port")); port != "" && !strings.Contains(host, ":") && !standard(scheme, port) {
			host += ":" + port
		}
		prefix = strings.TrimSuffix(strings.TrimRight(h.Get("X-Forwarded-Prefix"), "/"), "/v1")
	}
	if scheme != "https" {
		scheme = "http"
	}
	return scheme + "://" + host + prefix
}

// pathOf is the path of an address, as it stands there.
func pathOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

func standard(scheme, port string) bool {
	return scheme == "https" && port == "443" || scheme == "http" && port == "80"
}

func firstOf(texts ...string) string {
	i := slices.IndexFunc(texts, func(text string) bool { return text != "" })
	return texts[max(i, 0)]
}

// firstValue is what the outermost of several proxies said.
func firstValue(header string) string {
	value, _, _ := strings.Cut(header, ",")
	return strings.TrimSpace(value)
}

func parseForwarded(header string) map[string]string {
	pairs := map[string]string{}
	for _, pair := range strings.Split(firstValue(header), ";") {
		name, value, ok := strings.Cut(pair, "=")
		if ok {
			pairs[strings.ToLower(strings.TrimSpace(name))] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return pairs
}

// corsHeaders are what browsers may send and see: Magnum's defaults.
const (
	corsAllowed = "Content-Type, Cache-Control, Content-Language, Expires, Last-Modified, Pragma, X-Auth-Token, X-Identity-Status, X-Roles, " +
		"X-Service-Catalog, X-User-Id, X-Tenant-Id, X-OpenStack-Request-ID, X-Server-Management-Url, OpenStack-API-Version"
	corsExposed = "X-Auth-Token, X-Subject-Token, X-Service-Token, X-OpenStack-Request-ID, X-Server-Management-Url, " +
		"OpenStack-API-Version, OpenStack-API-Minimum-Version, OpenStack-API-Maximum-Version"
	corsMethods = "GET, PUT, POST, DELETE, PATCH"
)

// cors lets browsers of chosen origins in; true means that the request was a
// question of a browser and is answered.
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
