package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/e2e/imagebundle"
)

// exposed are the values of a management cluster with an ingress controller.
const exposed = `
    values:
      addons:
        ingress: {enabled: true, keepClientAddress: false, gatewayAPI: {enabled: false}}
`

// whoami tells who asks, by an Ingress of the default class.
const whoami = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: whoami}
spec:
  selector: {matchLabels: {app: whoami}}
  template:
    metadata: {labels: {app: whoami}}
    spec:
      containers: [{name: whoami, image: "ghcr.io/slipway-sh/whoami:v1.0.0", securityContext: {runAsUser: 65532}}]
---
apiVersion: v1
kind: Service
metadata: {name: whoami}
spec:
  selector: {app: whoami}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: whoami}
spec:
  rules:
    - host: ingress.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: whoami, port: {number: 80}}}}]}
`

// locked has Traefik ask for a password first: user and password are "user" and "secret".
const locked = `
apiVersion: v1
kind: Secret
metadata: {name: locked}
stringData: {users: "user:$apr1$slipway1$HmhMJrdPzhAG3RSodemEj/"}
---
apiVersion: traefik.io/v1alpha1
kind: Middleware
metadata: {name: locked}
spec: {basicAuth: {secret: locked}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: locked, annotations: {traefik.ingress.kubernetes.io/router.middlewares: default-locked@kubernetescrd}}
spec:
  rules:
    - host: locked.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: whoami, port: {number: 80}}}}]}
`

// gateway does so by the Gateway API.
const gateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front}
spec:
  gatewayClassName: traefik
  listeners: [{name: web, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: whoami}
spec:
  parentRefs: [{name: front}]
  hostnames: [gateway.example]
  rules: [{backendRefs: [{name: whoami, port: 80}]}]
`

// TestIngress has Traefik of the bundle answer on a load balancer's floating IP for an Ingress
// and, when that is asked for, for a Gateway with its route. A pod learns the client's address
// only after keepClientAddress is set: from a load balancer of amphorae by the PROXY protocol, and
// from one of OVN as the sender of what arrives. Switched off, Traefik goes with its load balancer,
// and the definitions of the Gateway API stay.
//
// Its pods do not reach the metadata service, until the values say so.
//
// proves: S-46, S-49
func TestIngress(t *testing.T) {
	images := os.Getenv("SLIPWAY_INGRESS")
	if images == "" {
		t.Skip("SLIPWAY_INGRESS names no bundle: run make ingress-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	p.append(smallManagementCluster + strings.TrimPrefix(exposed, "\n"))
	p.mirror("--dir", images, "--dir", whoamiBundle(t))
	p.timed("up", func() { p.up() })
	if out, err := p.on("", "get", "crd", "gateways.gateway.networking.k8s.io"); err == nil {
		t.Errorf("the Gateway API is there, and nobody asked for it: %s", out)
	}
	p.applies(whoami)
	p.timed("an Ingress", func() {
		p.answersTo("ingress.example", "", func(told, client string) bool { return net.ParseIP(told) != nil && told != client })
	})
	p.answersTo("ingress.example/metadata", "", func(told, _ string) bool { return strings.Contains(told, "Client.Timeout exceeded") })
	p.applies(locked)
	p.timed("a password", func() {
		p.answersTo("locked.example", "secret", func(told, _ string) bool { return net.ParseIP(told) != nil })
	})
	for _, wrong := range []string{"", "secre", "secrets"} {
		if told, _, err := askAs(t.Context(), p.traefik(), "locked.example", wrong); err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("with the password %q: %q (%v)", wrong, told, err)
		}
	}
	p.replace("keepClientAddress: false, gatewayAPI: {enabled: false}", "keepClientAddress: true, gatewayAPI: {enabled: true}")
	p.replace("addons:\n", "addons:\n        cni: {flannel: {networkPolicies: {denyEgressCidrs: null}}}\n")
	p.timed("a change of it", func() { p.up() })
	p.answersTo("ingress.example/metadata", "", func(told, _ string) bool { return told == "200 OK" })
	p.timed("a Gateway", func() {
		p.eventually("the class of Gateways", 5*time.Minute, func() (string, bool) {
			out, err := p.on("", "get", "gatewayclass", "traefik", "-o", `jsonpath={.status.conditions[?(@.type=="Accepted")].status}`)
			return out, err == nil && out == "True"
		})
		p.applies(gateway)
		for _, host := range []string{"ingress.example", "gateway.example"} {
			p.answersTo(host, "", func(told, client string) bool { return told == client })
		}
	})
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a further run changed %v", again.Report.Changes)
	}
	p.replace("ingress: {enabled: true", "ingress: {enabled: false")
	p.timed("without", func() {
		p.up()
		p.eventually("nothing left of Traefik", 5*time.Minute, func() (string, bool) {
			out, err := p.on("", "-n", "traefik", "get", "deployments,services", "-o", "name")
			balancers := p.openstack("loadbalancer", "list", "-f", "value", "-c", "name")
			return out + "\n" + balancers, err == nil && !strings.Contains(out, "/") && !strings.Contains(balancers, "traefik")
		})
	})
	if out, err := p.on("", "get", "gateway.gateway.networking.k8s.io", "front", "-o", "name"); err != nil {
		t.Errorf("the Gateway is gone with Traefik: %v\n%s", err, out)
	}
	p.timed("OVN", func() {
		// First the provider: load balancers that exist keep theirs.
		p.replace("ingress: {enabled: false", "openstack: {cloudConfig: {LoadBalancer: {lb-provider: ovn}}}\n        ingress: {enabled: false")
		p.up()
		p.replace("ingress: {enabled: false", "ingress: {enabled: true")
		p.up()
		for _, host := range []string{"ingress.example", "gateway.example"} {
			p.answersTo(host, "", func(told, client string) bool { return told == client })
		}
		if providers := p.openstack("loadbalancer", "list", "-f", "value", "-c", "name", "-c", "provider"); !ovnOnly(providers, "traefik") {
			t.Errorf("load balancers are of\n%s", providers)
		}
		if out, err := p.on("", "-n", "traefik", "get", "service", "traefik", "-o", "jsonpath={.metadata.annotations}"); err != nil || strings.Contains(out, "proxy-protocol") {
			t.Errorf("with OVN the PROXY protocol stays: %s (%v)", out, err)
		}
	})
	p.timed("down", func() { p.goDown() })
}

// ovnOnly tells whether those load balancers of a list whose names have the text are OVN's, and
// that there is one.
func ovnOnly(list, text string) bool {
	found := false
	for line := range strings.Lines(list) {
		if strings.Contains(line, text) {
			found = true
			if !strings.HasSuffix(strings.TrimSpace(line), " ovn") {
				return false
			}
		}
	}
	return found
}

// applies has the management cluster take manifests.
func (p *project) applies(manifests string) {
	p.t.Helper()
	if out, err := p.on(manifests, "apply", "-f", "-"); err != nil {
		p.t.Fatalf("applying: %v\n%s", err, out)
	}
}

// answersTo asks Traefik for a host, and a path behind it, until the address that a pod was told is as wanted, beside
// this client's own.
func (p *project) answersTo(host, password string, good func(told, client string) bool) {
	p.t.Helper()
	p.eventually(host, 8*time.Minute, func() (string, bool) {
		address := p.traefik()
		if address == "" {
			return "no address", false
		}
		told, client, err := askAs(p.t.Context(), address, host, password)
		return fmt.Sprintf("%s was told to be %q (%v)", client, told, err), err == nil && good(told, client)
	})
}

// traefik is the address of its load balancer, if it has one.
func (p *project) traefik() string {
	p.t.Helper()
	address, err := p.on("", "-n", "traefik", "get", "service", "traefik", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
	if err != nil {
		return ""
	}
	return address
}

// askAs asks a server for another host's page, with a password if there is one, and returns it with
// this client's address.
func askAs(ctx context.Context, address, host, password string) (page, client string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, to)
		if err == nil {
			client, _, err = net.SplitHostPort(conn.LocalAddr().String())
		}
		return conn, err
	}}
	host, path, _ := strings.Cut(host, "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/"+path, nil)
	if err != nil {
		return "", "", err
	}
	request.Host = host
	if password != "" {
		request.SetBasicAuth("user", password)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", client, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), client, err
}

// whoamiBundle is a bundle with nothing but the image of whoami.
func whoamiBundle(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "whoami")
	run(t, "env", "CGO_ENABLED=0", "go", "build", "-o", program, "./whoami")
	return programBundle(t, imagebundle.Image{Ref: "ghcr.io/slipway-sh/whoami", Version: "v1.0.0", Files: map[string]string{"/whoami": program}, Entrypoint: []string{"/whoami"}})
}
