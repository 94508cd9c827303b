package source

import (
	"github.com/slipway-sh/slipway/internal/component"
)

const traefikModule = "github.com/traefik/traefik/v3"

// ingressRecipes make what lets others reach the Services of a cluster: Traefik, an option, and
// its chart, which every bundle has. Its pages are made by npm and are not in the module, so that
// it serves its API alone.
func ingressRecipes() map[string]recipe {
	return map[string]recipe{
		"traefik-program": program{Module: "ingress", Package: traefikModule + "/cmd/traefik",
			Variables: []string{traefikModule + "/pkg/version.Version=" + component.TraefikVersion[1:]}},
		component.TraefikImage: staticImage("traefik-program", "/traefik", nonRoot+":"+nonRoot),
		component.GatewayDefinitions: moduleFile{Module: "ingress", From: "sigs.k8s.io/gateway-api",
			// Without the policy, named vap, which has nobody change the definitions later.
			Path: "config/crd/standard/gateway.networking.k8s.io_[b-u]*.yaml", Terse: true},
		// A group of its own: a build without the option downloads nothing else.
		"traefik-chart": chartArchive{moduleFile: moduleFile{Module: "charts", From: "github.com/traefik/traefik-helm-chart", Path: "traefik"}},
	}
}

// traefikPatches leave out what no module proxy serves. What Traefik cannot do without it, it
// refuses with a reason.
func traefikPatches() []patch {
	const authentication = "github.com/abbot/go-http-auth"
	return []patch{{
		Module: traefikModule,
		// Amazon's SDK, for containers of another cloud.
		Remove: []string{"pkg/provider/ecs/*.go"},
		Write: map[string]string{
			"pkg/provider/ecs/ecs.go": `package ecs

import (
	"errors"

	"` + traefikModule + `/pkg/config/dynamic"
	"` + traefikModule + `/pkg/safe"
)

const ProviderName = "ecs"

type Provider struct{}

func (*Provider) Init() error { return errors.New("the provider ecs is not part of this build") }

func (*Provider) Provide(chan<- dynamic.Message, *safe.Pool) error { return nil }
`,
			// The release of the library that is served has no answer to stale requests.
			"pkg/middlewares/auth/digest_auth.go": `package auth

import (
	"context"
	"errors"
	"net/http"

	"` + traefikModule + `/pkg/config/dynamic"
)

func NewDigest(context.Context, http.Handler, dynamic.DigestAuth, string) (http.Handler, error) {
	return nil, errors.New("digestAuth is not part of this build: use basicAuth or forwardAuth")
}
`,
		},
		Replace: []replacement{
			// Two empty structs, in a module that is not served.
			{"pkg/config/dynamic/http_config.go", "\t\"github.com/traefik/traefik/dynamic/ext\"\n", ""},
			{"pkg/config/dynamic/http_config.go", "\text.HTTP `yaml:\",inline\"`\n", ""},
			{"pkg/config/dynamic/http_config.go", "\text.Router `yaml:\",inline\"`\n", ""},
			{"pkg/config/dynamic/zz_generated.deepcopy.go", "\tout.HTTP = in.HTTP\n", ""},
			{"pkg/config/dynamic/zz_generated.deepcopy.go", "\tout.Router = in.Router\n", ""},
			// Its fork of mux matches the path that Traefik routes by, and is not served. Rules in
			// the syntax of Traefik 2 have the original match a request with that path.
			{"pkg/muxer/http/mux.go", "\t\"github.com/gorilla/mux\"\n", ""},
			{"pkg/muxer/http/mux.go", "mux.RoutingPathKey", "routingPathKey{}"},
			{"pkg/muxer/http/mux.go", "// getRoutingPath retrieves", `type routingPathKey struct{}

func routed(req *http.Request) *http.Request {
	path := getRoutingPath(req)
	if path == nil {
		return req
	}
	copied := req.Clone(req.Context())
	copied.URL.Path, copied.URL.RawPath = *path, ""
	return copied
}

// getRoutingPath retrieves`},
			{"pkg/muxer/http/matcher_v2.go", ".UseRoutingPath()", ""},
			{"pkg/muxer/http/matcher_v2.go", "\t\t\tif route.Match(req, ", "\t\t\tif route.Match(routed(req), "},
		},
	}, {
		// The fork that has this function is not served.
		Module: authentication,
		Write: map[string]string{
			"go.mod": "module " + authentication + "\n",
			"secret.go": `package auth

import "strings"

func CheckSecret(password, secret string) bool {
	compare := compareFuncs[0].compare
	for _, known := range compareFuncs[1:] {
		if strings.HasPrefix(secret, known.prefix) {
			compare = known.compare
			break
		}
	}
	return compare([]byte(secret), []byte(password)) == nil
}
`},
	}, {
		// Proofs by DNS, for certificates: of OpenStack's own service and of three that go
		// everywhere. The others bring the SDKs of 200 services, of which 15 are not served.
		Module: "github.com/go-acme/lego/v5",
		Write: map[string]string{"providers/dns/zz_gen_dns_providers.go": `package dns

import (
	"fmt"

	"github.com/go-acme/lego/v5/challenge"
	"github.com/go-acme/lego/v5/providers/dns/designate"
	"github.com/go-acme/lego/v5/providers/dns/dnsupdate"
	"github.com/go-acme/lego/v5/providers/dns/exec"
	"github.com/go-acme/lego/v5/providers/dns/httpreq"
)

func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	switch name {
	case "designate":
		return designate.NewDNSProvider()
	case "dnsupdate", "rfc2136":
		return dnsupdate.NewDNSProvider()
	case "exec":
		return exec.NewDNSProvider()
	case "httpreq":
		return httpreq.NewDNSProvider()
	}
	return nil, fmt.Errorf("DNS provider %s is not part of this build, which has designate, rfc2136, exec and httpreq", name)
}
`},
	}}
}
