package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/component"
)

// TestUpgrade brings a management cluster up by an older Slipway with its
// bundle, and goes to this one by one run: k3s of the seed, Kubernetes by a minor
// version, and what runs on both. It makes a backup first and says how to go back, and which
// versions run then. Its API answers meanwhile. A tenant's cluster is
// left alone by that, and upgraded when the tenant wants it. A mirror has the
// images of both bundles: a node's image brings those of one. At last the cluster
// looks after itself, and repairs itself while the seed is shelved.
//
// proves: F03, S-58, S-66, S-67
func TestUpgrade(t *testing.T) {
	older := os.Getenv("SLIPWAY_OLDER")
	if older == "" {
		t.Skip("SLIPWAY_OLDER names no older Slipway: run make upgrade-test")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	p.append(managementCluster)
	identity := p.backedUp()
	p.mirror("--dir", filepath.Join(older, "bundle"))
	newer := p.program
	p.program = filepath.Join(older, "bin", "slipway")
	p.bundled(bundleDir(t), filepath.Join(older, "bundle"))
	p.timed("the older up", func() { p.up() })
	p.ready(4, time.Minute)
	p.runs("v1.33.5", "v1.34.0+k3s1")
	p.uses(olderImages())
	p.timed("a tenant's cluster", func() { p.openShop("v1.33.5") })
	before, issued, servers := p.ids(), p.issued(), p.servers()
	if out, err := p.on("", "create", "configmap", "kept", "--from-literal", "a=b"); err != nil {
		t.Fatalf("making a ConfigMap: %v\n%s", err, out)
	}

	p.program = newer
	p.bundled(filepath.Join(older, "bundle"), bundleDir(t))
	p.refuse("v1.35.0")
	watched := p.watch()
	p.timed("the newer up", func() {
		p.underLoad("the upgrade", func() { p.goesToNewer(identity) })
	})
	if silent := watched(); silent > outage {
		t.Errorf("the API was silent for %s", silent)
	}
	p.ready(4, time.Minute)
	p.runs("v1.34.4", "v1.34.1+k3s1")
	p.uses(newerImages())
	if out, err := p.on("", "get", "configmap", "kept", "-o", "jsonpath={.data.a}"); err != nil || out != "b" {
		t.Errorf("what was there before: %v\n%s", err, out)
	}
	if now := p.issued(); now <= issued {
		t.Errorf("the API server's certificate is of %s, was of %s", now, issued)
	}
	p.replaced(before)
	p.untouched(servers)
	p.timed("its upgrade", p.upgradeShop)
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a second run changed %v", again.Report.Changes)
	}
	// The way back is none.
	p.program = filepath.Join(older, "bin", "slipway")
	p.bundled(bundleDir(t), filepath.Join(older, "bundle"))
	if out, err := p.command("plan").CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot be downgraded") {
		t.Errorf("plan by the older Slipway: %v\n%s", err, out)
	}
	p.program = newer
	p.bundled(filepath.Join(older, "bundle"), bundleDir(t))
	p.asked("cluster", "delete", "shop")
	p.eventually("deletion of the tenant's cluster", 10*time.Minute, func() (string, bool) {
		time.Sleep(clientPause)
		out, err := p.coe("cluster", "list", "-f", "value", "-c", "name", "-c", "status")
		return out, err == nil && out == ""
	})
	p.timed("moving of the cluster onto itself", p.pivot)
	p.timed("loss of a control plane without a seed", func() { p.loseControlPlane(4) })
	p.timed("down", func() { p.do("down", "--yes") })
	if left := p.ids(); len(left) != 0 {
		t.Errorf("down left %v", left)
	}
}

// goesToNewer upgrades, and reads what is printed: each provider of both clusters with its
// version of now and of before, and the backup that was made first, which the way back begins
// with. What it prints is what Cluster API's inventory has.
func (p *project) goesToNewer(identity string) {
	p.t.Helper()
	out := p.do("up", "--yes")
	p.t.Log(out)
	made := p.backups("management")
	if !slices.ContainsFunc(made, func(b scheduled) bool {
		return b.Damage == "" && strings.Contains(out, "the backup before it is "+b.ID)
	}) {
		p.t.Errorf("the backups are %+v", made)
	}
	for _, on := range []string{"seed", "management cluster"} {
		for name, versions := range steps() {
			if row := strings.Join([]string{name, on, versions[1], versions[0]}, " "); !strings.Contains(strings.Join(strings.Fields(out), " "), row) {
				p.t.Errorf("no row %q", row)
			}
		}
	}
	const controller = "take capi-system/capi-controller-manager from " + component.ClusterAPIVersion + " to v1.12.2\n"
	if way := p.do("undo", "--dry-run", "--identity", identity); !strings.Contains(way, controller) {
		p.t.Errorf("the way back is not to the older versions:\n%s", way)
	}
	const inventory = `jsonpath={range .items[*]}{.metadata.name}={.version} {end}`
	for _, kubeconfig := range []string{"seed.kubeconfig", "management.kubeconfig"} {
		out, err := p.by(kubeconfig, "", "get", "providers.clusterctl.cluster.x-k8s.io", "-A", "-o", inventory)
		for _, provider := range component.Providers(component.DefaultVersions()) {
			if err != nil || !strings.Contains(out, provider.Label+"="+provider.Version) {
				p.t.Errorf("%s: the inventory has no %s %s: %v\n%s", kubeconfig, provider.Label, provider.Version, err, out)
			}
		}
	}
}

// steps are the versions of what both clusters have, before and after, by the names in the table.
func steps() map[string][2]string {
	capi := [2]string{"v1.12.2", component.ClusterAPIVersion}
	return map[string][2]string{"cluster-api": capi, "bootstrap-kubeadm": capi, "control-plane-kubeadm": capi,
		"infrastructure-openstack": {"v0.14.1", component.CAPOVersion}, "openstack-resource-controller": {"v2.3.0", component.ORCVersion},
		"cert-manager": {"v1.21.1", component.CertManagerVersion}}
}

// mirror serves the images of the bundle, and of others, where machines reach it, with a
// certificate, and has the environment use it.
func (p *project) mirror(others ...string) {
	p.t.Helper()
	const host, port = "172.24.4.1", ":5000"
	folder := p.t.TempDir()
	certificate, key := filepath.Join(folder, "mirror.crt"), filepath.Join(folder, "mirror.key")
	run(p.t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=mirror",
		"-addext", "subjectAltName=IP:"+host, "-keyout", key, "-out", certificate)
	start(p.t, p.program, append([]string{"bundle", "serve", "--dir", bundleDir(p.t), "--listen", host + port, "--tls-cert", certificate, "--tls-key", key}, others...)...)
	text := "  registries:\n    " + host + port + ": {caFile: " + certificate + "}\n"
	for _, registry := range []string{"registry.k8s.io", "quay.io", "ghcr.io", "docker.io"} {
		text += "    " + registry + ": {mirrors: [\"https://" + host + port + "\"]}\n"
	}
	p.append(text)
}

// openShop makes a tenant's cluster, whose nodes run that version.
func (p *project) openShop(version string) {
	p.t.Helper()
	p.enlargeQuota()
	template := p.asked("cluster", "template", "list", "-f", "value", "-c", "name")
	p.asked("cluster", "create", "shop", "--cluster-template", template, "--master-count", "1", "--node-count", "1")
	p.settled("CREATE_COMPLETE", 15*time.Minute)
	if err := os.Mkdir(filepath.Join(p.folder, "shop"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.asked("cluster", "config", "shop", "--dir", filepath.Join(p.folder, "shop"))
	p.shopRuns(version)
}

// shopRuns wants two nodes of a version in the tenant's cluster.
func (p *project) shopRuns(version string) {
	p.t.Helper()
	p.shopNodes(2)
	if out, err := p.shop("", "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.kubeletVersion}"); err != nil || out != version+" "+version {
		p.t.Errorf("the tenant's nodes run %s, not %s: %v", out, version, err)
	}
}

// untouched wants the servers of the tenant's cluster as they were.
func (p *project) untouched(before map[string]string) {
	p.t.Helper()
	now := p.servers()
	for name, id := range before {
		if strings.HasPrefix(name, "shop-") && now[name] != id {
			p.t.Errorf("server %s of the tenant was %s, is %q", name, id, now[name])
		}
	}
	p.shopRuns("v1.33.5")
}

// upgradeShop goes to the template of this bundle, as a tenant does.
func (p *project) upgradeShop() {
	p.t.Helper()
	template := ""
	for _, name := range strings.Fields(p.asked("cluster", "template", "list", "-f", "value", "-c", "name")) {
		if strings.HasPrefix(name, "kubernetes-1.34") {
			template = name
		}
	}
	p.asked("cluster", "upgrade", "shop", template)
	p.settled("UPDATE_COMPLETE", 15*time.Minute)
	p.shopRuns("v1.34.4")
}

// bundled names another bundle in the environment file.
func (p *project) bundled(from, to string) {
	p.t.Helper()
	path := filepath.Join(p.folder, "slipway.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), "bundle: "+from+"\n", "bundle: "+to+"\n", 1)), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// runs wants versions of the nodes: of the management cluster, and of the seed.
func (p *project) runs(nodes, seed string) {
	p.t.Helper()
	for kubeconfig, want := range map[string]string{"management.kubeconfig": nodes, "seed.kubeconfig": seed} {
		out, err := p.by(kubeconfig, "", "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.kubeletVersion}")
		for _, version := range strings.Fields(out) {
			if version != want {
				p.t.Errorf("%s: a node runs %s, not %s", kubeconfig, version, want)
			}
		}
		if err != nil || out == "" {
			p.t.Errorf("%s: %v\n%s", kubeconfig, err, out)
		}
	}
	var version struct{ ServerVersion struct{ GitVersion string } }
	out, err := p.on("", "version", "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &version)
	}
	if err != nil || version.ServerVersion.GitVersion != nodes {
		p.t.Errorf("the API server is of %q, not %s: %v", version.ServerVersion.GitVersion, nodes, err)
	}
}

// olderImages are versions of what a bundle puts on both clusters, and of what
// speaks to the cloud, by the last part of the images' names.
func olderImages() map[string]string {
	return map[string]string{"cluster-api-controller": "v1.12.2", "kubeadm-control-plane-controller": "v1.12.2", "capi-openstack-controller": "v0.14.1",
		"openstack-resource-controller": "v2.3.0", "cert-manager-controller": "v1.21.1", "openstack-cloud-controller-manager": "v1.33.1", "cinder-csi-plugin": "v1.33.1"}
}

// newerImages are those of this bundle.
func newerImages() map[string]string {
	return map[string]string{"cluster-api-controller": component.ClusterAPIVersion, "kubeadm-control-plane-controller": component.ClusterAPIVersion,
		"capi-openstack-controller": component.CAPOVersion, "openstack-resource-controller": component.ORCVersion, "cert-manager-controller": component.CertManagerVersion,
		"openstack-cloud-controller-manager": component.CloudProviderVersion, "cinder-csi-plugin": component.CloudProviderVersion}
}

// uses wants these versions of images in pods of both clusters, and no others of
// the same images.
func (p *project) uses(versions map[string]string) {
	p.t.Helper()
	for kubeconfig, kinds := range map[string]int{"seed.kubeconfig": len(versions) - 2, "management.kubeconfig": len(versions)} {
		p.eventually(fmt.Sprintf("%s: images %v", kubeconfig, versions), 3*time.Minute, func() (string, bool) {
			out, err := p.by(kubeconfig, "", "get", "pods", "-A", "-o", "jsonpath={.items[*].spec.containers[*].image}")
			seen := map[string]bool{}
			for _, image := range strings.Fields(out) {
				name, tag, _ := strings.Cut(path.Base(image), ":")
				if want, known := versions[name]; known {
					if tag != want {
						return out, false
					}
					seen[name] = true
				}
			}
			return out, err == nil && len(seen) == kinds
		})
	}
}

// issued is since when the certificate of a kube-apiserver is valid, as text
// that sorts by time.
func (p *project) issued() string {
	p.t.Helper()
	const at = `echo | openssl s_client -connect "${1#https://}" 2>/dev/null | openssl x509 -noout -startdate -dateopt iso_8601`
	server, err := p.on("", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
	if err != nil {
		p.t.Fatalf("reading the kubeconfig: %v\n%s", err, server)
	}
	out, err := exec.CommandContext(p.t.Context(), "sh", "-c", at, "sh", server).CombinedOutput()
	if err != nil {
		p.t.Fatalf("reading the certificate: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// refuse wants plan to refuse a version of Kubernetes that does not follow, of an image that does
// not say what it has.
func (p *project) refuse(version string) {
	p.t.Helper()
	disk := filepath.Join(p.folder, "empty.raw")
	if err := os.WriteFile(disk, make([]byte, 1<<20), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.openstack("image", "create", "--disk-format", "raw", "--container-format", "bare", "--file", disk, "unknown")
	path := filepath.Join(p.folder, "slipway.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	changed := strings.Replace(string(text), "  managementCluster:\n", "  managementCluster:\n    image: unknown\n    kubernetesVersion: "+version+"\n", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if out, err := p.command("plan").CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot skip a minor version") {
		p.t.Errorf("plan with Kubernetes %s: %v\n%s", version, err, out)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.openstack("image", "delete", "unknown")
}

// replaced wants other servers of the environment, the newer images, and the same
// of everything else. The nodes' older image stays: a tenant's machines are of it.
func (p *project) replaced(before map[string]string) {
	p.t.Helper()
	now := p.all()
	for name, id := range before {
		stays := !strings.HasPrefix(name, "server demo-") && name != "image demo-seed-image"
		if strings.HasPrefix(name, "port ") || slices.Contains(now[name], id) == stays {
			continue // ports go with their machines
		}
		p.t.Errorf("%s was %s, is %q", name, id, now[name])
	}
	if images := now["image demo-node-image"]; len(images) != 2 {
		p.t.Errorf("images of the nodes: %q", images)
	}
}
