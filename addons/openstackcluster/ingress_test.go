package openstackcluster

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jinja "github.com/slipway-sh/slipway/addons/addonprovider/values"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// TestIngress is one of two.
//
// proves: F103
func TestIngress(t *testing.T) {
	t.Parallel()
	all := render(t, `addons: {ingress: {enabled: true}}`)
	all.get(t, "HelmRelease traefik")
	other := render(t, `addons: {ingress: {enabled: true, traefik: {enabled: false}, nginx: {enabled: true}}}`)
	other.get(t, "HelmRelease ingress-nginx")
	if all["HelmRelease ingress-nginx"] != nil || other["HelmRelease traefik"] != nil || render(t)["HelmRelease traefik"] != nil {
		t.Error("an ingress controller is there that was not asked for")
	}
	refuse(t, `addons: {ingress: {enabled: true, nginx: {enabled: true}}}`, "traefik and nginx")
}

// TestClientAddresses has load balancers tell who asks, and Traefik believe those alone which are
// in the cluster's networks. Those of OVN keep the address: there the nodes must keep it too.
func TestClientAddresses(t *testing.T) {
	t.Parallel()
	const told, local = `{loadbalancer.openstack.org/proxy-protocol: "true"}`, `Local`
	usual := traefikValues(t, `addons: {ingress: {enabled: true}}`)
	want(t, usual, `null`, "service")
	want(t, usual, `null`, "ports")
	const kept = `addons: {ingress: {enabled: true, keepClientAddress: true}}`
	const pods = `kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, "fd00::/48"]}}`
	proxied := traefikValues(t, kept, pods)
	want(t, proxied, told, "service", "annotations")
	for _, port := range []string{"web", "websecure"} {
		want(t, proxied, `{proxyProtocol: {trustedIPs: [192.168.3.0/24, "fd01::/64", 10.1.0.0/16, "fd00::/48"]}}`, "ports", port)
	}
	ovn := traefikValues(t, kept, `apiServer: {loadBalancerProvider: ovn}`)
	want(t, ovn, `{spec: {externalTrafficPolicy: Local}}`, "service")
	want(t, ovn, `null`, "ports")
	want(t, traefikValues(t, kept, `addons: {openstack: {cloudConfig: {LoadBalancer: {lb-provider: ovn}}}}`), `{spec: {externalTrafficPolicy: Local}}`, "service")
	// Only the Services' load balancers count.
	mixed := traefikValues(t, kept, `{apiServer: {loadBalancerProvider: ovn}, addons: {openstack: {cloudConfig: {LoadBalancer: {lb-provider: amphora}}}}}`)
	want(t, mixed, told, "service", "annotations")

	const nginx = `addons: {ingress: {traefik: {enabled: false}, nginx: {enabled: true}}}`
	controller := chartValues(t, render(t, kept, nginx), "ingress-nginx")["controller"]
	want(t, controller, told, "service", "annotations")
	want(t, controller, `"true"`, "config", "use-proxy-protocol")
	controller = chartValues(t, render(t, kept, nginx, `apiServer: {loadBalancerProvider: ovn}`), "ingress-nginx")["controller"]
	want(t, controller, local, "service", "externalTrafficPolicy")
	want(t, controller, `null`, "config")
}

// TestGatewayAPI adds the definitions, and has Traefik listen on the ports that Gateways name.
func TestGatewayAPI(t *testing.T) {
	t.Parallel()
	const gateways = `addons: {ingress: {enabled: true, gatewayAPI: {enabled: true}}}`
	values := traefikValues(t, gateways)
	want(t, values, `true`, "providers", "kubernetesGateway", "enabled")
	want(t, values, `{web: {port: 80}, websecure: {port: 443}}`, "ports")
	both := traefikValues(t, gateways, `addons: {ingress: {keepClientAddress: true}}`)
	want(t, both, `80`, "ports", "web", "port")
	want(t, both, `192.168.3.0/24`, "ports", "web", "proxyProtocol", "trustedIPs", 0)
	definition := applied(t, render(t, gateways), "gateway-api", known(someClouds, nil)).get(t, "CustomResourceDefinition httproutes.gateway.networking.k8s.io")
	want(t, definition, `keep`, "metadata", "annotations", "helm.sh/resource-policy")
	want(t, definition, component.GatewayAPIVersion, "metadata", "annotations", "gateway.networking.k8s.io/bundle-version")
	for _, without := range []string{``, `addons: {ingress: {enabled: true}}`, `addons: {ingress: {gatewayAPI: {enabled: true}}}`} {
		if slices.Contains(addonNames(render(t, without)), "Manifests gateway-api") {
			t.Errorf("%s has the Gateway API", without)
		}
	}
	for _, wrong := range []string{`addons: {ingress: {keepClientAdress: true}}`, `addons: {ingress: {gatewayAPI: {enable: true}}}`, `addons: {ingress: {keepClientAddress: maybe}}`} {
		refuse(t, wrong, "ingress")
	}
	refuse(t, `addons: {ingress: {enabled: true, gatewayAPI: {enabled: true}, traefik: {enabled: false}, nginx: {enabled: true}}}`, "only traefik serves it")
}

// TestGatewayDefinitions are those of the catalogue's version, to the byte.
func TestGatewayDefinitions(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SLIPWAY_INGRESS")
	if dir == "" {
		t.Skip("SLIPWAY_INGRESS names no bundle: run make ingress-test")
	}
	crds := slices.DeleteFunc(component.Known(component.DefaultVersions()), func(c component.Component) bool { return c.Name != component.GatewayDefinitions })
	theirs, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(crds[0].Path)))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(filepath.Join("chart", "files", "gateway-api-crds.yaml"))
	if err != nil || !bytes.Equal(ours, theirs) {
		t.Errorf("chart/files/gateway-api-crds.yaml is not %s of the bundle: copy it (%v)", crds[0].Path, err)
	}
}

// TestGatewaysOnAServer has a real API server take the definitions, a Gateway and a route.
func TestGatewaysOnAServer(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	all := render(t, `addons: {ingress: {enabled: true, gatewayAPI: {enabled: true}}}`)
	text, _ := at(all.get(t, "Manifests gateway-api"), "spec", "manifestSources", 0, "template").(string)
	server.Serve(t, []byte(through(t, text, known(someClouds, nil))))
	if err := cluster.Apply(t.Context(), []byte(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: default}
spec: {gatewayClassName: traefik, listeners: [{name: web, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: default}
spec: {parentRefs: [{name: front}], rules: [{backendRefs: [{name: shop, port: 80}]}]}
`)); err != nil {
		t.Error(err)
	}
}

// traefikValues are what Traefik's chart gets in a cluster with two networks of machines.
func traefikValues(t *testing.T, given ...string) map[string]any {
	t.Helper()
	variables := known(someClouds, nil)
	variables["infra_cluster"] = jinja.Of(map[string]any{"status": map[string]any{"network": map[string]any{
		"subnets": []any{map[string]any{"cidr": "192.168.3.0/24"}, map[string]any{"cidr": "fd01::/64"}}}}})
	text := through(t, secret(t, render(t, given...), "traefik-config", "defaults"), variables)
	if strings.Contains(text, "checkNewVersion: true") {
		t.Error("Traefik would ask the internet for its newest version")
	}
	return values(t, text)
}
