package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/component"
)

// small is a cluster with one machine of each kind and none of the optional addons.
const small = `
controlPlane: {machineCount: 1}
nodeGroups: [{name: md-0, machineCount: 1}]
addons:
  metricsServer: {enabled: false}
`

// optionalAddon is one that a tenant's cluster can have or not.
type optionalAddon struct {
	// name is that of its object, and namespace where its Deployments are.
	name, namespace string
	// values switch it on.
	values string
	// works uses it.
	works func(*shopOfAddons)
}

func optionalAddons() []optionalAddon {
	return []optionalAddon{
		{"metrics-server", "kube-system", "metricsServer: {enabled: true}", (*shopOfAddons).measures},
		{"cert-manager", "cert-manager", "certManager: {enabled: true}", (*shopOfAddons).certifies},
		{"flux", "flux-system", "flux: {enabled: true}", (*shopOfAddons).followsGit},
		{"traefik", "traefik", "ingress: {enabled: true}", (*shopOfAddons).lets},
	}
}

// shopOfAddons is the tenant's cluster.
type shopOfAddons struct {
	*project
	kubeconfig string
}

// TestAddons has a tenant's cluster get each optional addon alone, in the version that its values
// say, use it, and give it back for the next one: what was installed goes, and nothing else. All
// machines of this environment have config drives.
//
// proves: S-45
func TestAddons(t *testing.T) {
	images := []string{os.Getenv("SLIPWAY_INGRESS"), os.Getenv("SLIPWAY_FLUX")}
	if slices.Contains(images, "") {
		t.Skip("SLIPWAY_INGRESS and SLIPWAY_FLUX name no bundles: run make addons-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	p.append(smallManagementCluster + "  configDrive: true\n")
	p.mirror("--dir", images[0], "--dir", images[1], "--dir", whoamiBundle(t))
	p.timed("up", func() { p.up() })
	p.enlargeQuota()
	s := &shopOfAddons{project: p}
	p.timed("the cluster", func() { s.becomes("") })
	s.kubeconfig = p.keep(filepath.Join("clusters", "shop.kubeconfig"))
	p.expectConfigDrives()
	s.hasOnly("")
	for _, addon := range optionalAddons() {
		p.timed(addon.name, func() {
			s.becomes(addon.values)
			s.hasOnly(addon.name)
			addon.works(s)
		})
	}
	p.timed("another version", s.refusesVersion)
	p.timed("none", func() { s.becomes("") })
	s.hasOnly("")
	s.keepsWhatFluxApplied()
	p.timed("delete", func() { p.do("cluster", "delete", "shop", "--yes") })
	p.timed("down", func() { p.goDown() })
}

// expectConfigDrives wants the seed and the machines of both clusters to be what their config
// drives say.
func (p *project) expectConfigDrives() {
	p.t.Helper()
	servers := p.servers()
	if len(servers) != 5 {
		p.t.Errorf("servers are %v", servers)
	}
	for name, id := range servers {
		if drive := p.openstack("server", "show", id, "-f", "value", "-c", "config_drive"); drive != "True" {
			p.t.Errorf("server %s has the config drive %q", name, drive)
		}
		if told, err := p.inside(id, "cat /run/cloud-init/result.json"); err != nil || !strings.Contains(told, "DataSourceConfigDrive") {
			p.t.Errorf("server %s was told what to be by %s (%v)", name, told, err)
		}
	}
}

// becomes gives the cluster the values of an addon, and waits until that is done.
func (s *shopOfAddons) becomes(addon string, args ...string) {
	s.t.Helper()
	folder := s.t.TempDir()
	for name, text := range map[string]string{"small.yaml": small, "addon.yaml": "addons: {" + addon + "}\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.do(append([]string{"cluster", "create", "shop", "-f", filepath.Join(folder, "small.yaml"), "-f", filepath.Join(folder, "addon.yaml")}, args...)...)
}

// hasOnly waits until of the optional addons the cluster has that one, with all its Deployments
// available, and nothing of the others.
func (s *shopOfAddons) hasOnly(want string) {
	s.t.Helper()
	for _, addon := range optionalAddons() {
		s.eventually(addon.name, 5*time.Minute, func() (string, bool) {
			objects, err := s.on("", "-n", "shop", "get", "helmreleases,manifests", "-o", "name")
			if err != nil {
				return objects, false
			}
			told := strings.Contains(objects+"\n", "/shop-"+addon.name+"\n")
			deployments, err := s.by(s.kubeconfig, "", "-n", addon.namespace, "get", "deployments", "-o",
				`jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Available")].status} {end}`)
			if addon.namespace == "kube-system" {
				deployments = onlyNamed(deployments, addon.name)
			}
			balancers := ""
			if addon.name == "traefik" {
				balancers = onlyNamed(s.openstack("loadbalancer", "list", "-f", "value", "-c", "name"), "traefik")
			}
			seen := fmt.Sprintf("object: %v, Deployments: %q (%v), load balancers: %q", told, deployments, err, balancers)
			if addon.name == want {
				return seen, err == nil && told && deployments != "" && !strings.Contains(deployments, "=False")
			}
			return seen, err == nil && !told && deployments == "" && balancers == ""
		})
	}
}

// onlyNamed are the words of a list that have the text.
func onlyNamed(list, text string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(list), func(word string) bool { return !strings.Contains(word, text) }), " ")
}

// applies has the cluster take manifests.
func (s *shopOfAddons) applies(manifests string) {
	s.t.Helper()
	s.eventually("applying", 2*time.Minute, func() (string, bool) { // webhooks come up
		out, err := s.by(s.kubeconfig, manifests, "apply", "-f", "-")
		return out, err == nil
	})
}

// reads waits until a field of an object is that.
func (s *shopOfAddons) reads(want, namespace, object, path string) {
	s.t.Helper()
	s.eventually(object, 5*time.Minute, func() (string, bool) {
		out, err := s.by(s.kubeconfig, "", "-n", namespace, "get", object, "-o", "jsonpath={"+path+"}")
		return out, err == nil && out == want
	})
}

// measures asks metrics-server for what nodes use.
func (s *shopOfAddons) measures() {
	s.t.Helper()
	s.eventually("kubectl top", 5*time.Minute, func() (string, bool) {
		out, err := s.by(s.kubeconfig, "", "top", "nodes", "--no-headers")
		return out, err == nil && strings.Count(out, "shop-") == 2
	})
}

// certifies has cert-manager issue a certificate.
func (s *shopOfAddons) certifies() {
	s.t.Helper()
	s.applies(`
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: own}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: shop}
spec: {secretName: shop-tls, dnsNames: [shop.example], issuerRef: {name: own}}
`)
	s.reads("True", "default", "certificate/shop", `.status.conditions[?(@.type=="Ready")].status`)
	s.reads(component.CertManagerVersion, "cert-manager", "deployment/cert-manager", `.metadata.labels.app\.kubernetes\.io/version`)
}

// lets whoever is outside reach a pod by an Ingress.
func (s *shopOfAddons) lets() {
	s.t.Helper()
	s.applies(whoami)
	s.eventually("ingress.example", 8*time.Minute, func() (string, bool) {
		address, err := s.by(s.kubeconfig, "", "-n", "traefik", "get", "service", "traefik", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err != nil || address == "" {
			return "no address: " + address, false
		}
		told, _, err := askAs(s.t.Context(), address, "ingress.example", "")
		return fmt.Sprintf("%q (%v)", told, err), err == nil && net.ParseIP(told) != nil
	})
}

// refusesVersion asks for a version that the bundle has not: that is told, the other addons stay,
// and the version that is there works.
func (s *shopOfAddons) refusesVersion() {
	s.t.Helper()
	s.becomes("certManager: {enabled: true, chart: {version: v9.9.9}}", "--wait", "control-plane")
	s.eventually("a version that is not there", 5*time.Minute, func() (string, bool) {
		out, err := s.on("", "-n", "shop", "get", "helmrelease", "shop-cert-manager", "-o", "jsonpath={.status}")
		return out, err == nil && strings.Contains(out, "9.9.9")
	})
	s.becomes("certManager: {enabled: true, chart: {version: " + component.CertManagerVersion + "}}")
	s.hasOnly("cert-manager")
}
