package openstackapi

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Addresses are how an API knows the address that its clients use.
type Addresses struct {
	// Public is the operator's, without Version; "" is that of the request.
	Public string
	// TrustForwarded trusts X-Forwarded-* and Forwarded; only behind a proxy.
	TrustForwarded bool
	// Version is the path at the end that belongs to the API, such as /v1.
	Version string
}

// NewAddresses checks the operator's address; "" is none.
func NewAddresses(public, version string, trustForwarded bool) (Addresses, error) {
	a := Addresses{TrustForwarded: trustForwarded, Version: version}
	if public == "" {
		return a, nil
	}
	u, err := url.Parse(public)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return a, errors.New("the public endpoint must be an address such as https://cloud.example:9511/v1")
	}
	a.Public = strings.TrimSuffix(strings.TrimRight(public, "/"), version)
	return a, nil
}

// Of is the address a client used, without the version and a slash at the end, for
// links: the operator's public endpoint, else what a trusted proxy says
// (RFC 7239 and X-Forwarded-*), else the request's own.
func (a Addresses) Of(r *http.Request) string {
	if a.Public != "" {
		return a.Public
	}
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if a.TrustForwarded {
		h := r.Header
		forwarded := parseForwarded(h.Get("Forwarded"))
		scheme = firstOf(forwarded["proto"], firstValue(h.Get("X-Forwarded-Proto")), scheme)
		host = firstOf(forwarded["host"], firstValue(h.Get("X-Forwarded-Host")), host)
		if port := firstValue(h.Get("X-Forwarded-Port")); port != "" && !strings.Contains(host, ":") && !standard(scheme, port) {
			host += ":" + port
		}
		prefix = strings.TrimSuffix(strings.TrimRight(h.Get("X-Forwarded-Prefix"), "/"), a.Version)
	}
	if scheme != "https" {
		scheme = "http"
	}
	return scheme + "://" + host + prefix
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
