package e2e

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/test/browser"
)

// oneControlPlane is the section of the environment file for a small management cluster with
// the tenants' console.
const oneControlPlane = `
  managementCluster:
    controlPlane: {count: 1}
    nodeGroups: [{name: md-0, count: 1}]
  magnum: {adminCloud: sandbox-admin}
  console: {}
`

// tenantTab is a tab in which a tenant uses the console.
type tenantTab struct {
	*browser.Tab
	*project
	console string
}

// TestATenantOnMachines uses the tenants' console in Chromium, as people do, for clusters whose
// machines run: one is created and its kubeconfig used, a worker finds no host and the page says
// so, its machines are replaced by an upgrade, and it is deleted.
func TestATenantOnMachines(t *testing.T) {
	chromium := browser.Program(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(oneControlPlane)
	defer p.tell()
	p.timed("up", func() { p.up() })
	p.enlargeQuota()
	b := &tenantTab{Tab: browser.Launch(t, chromium, chromedp.Flag("ignore-certificate-errors", true)), project: p, console: p.consoleAddress()}
	p.timed("signing in", b.signIn)
	p.timed("a cluster, from the form to its nodes", b.create)
	p.timed("a worker without a host", b.suffer)
	p.timed("an upgrade", b.upgrade)
	p.timed("the deletion", b.remove)
	b.Forgive(func(one string) bool { return strings.Contains(one, "status of 401") }) // of the page that signs in
	b.Quiet(t, b.console)
	p.timed("down", func() { p.do("down", "--yes") })
}

// consoleAddress is where tenants find the console.
func (p *project) consoleAddress() string {
	p.t.Helper()
	var status struct{ Console string }
	if err := json.Unmarshal([]byte(p.do("status", "--output", "json")), &status); err != nil || !strings.HasPrefix(status.Console, "https://") {
		p.t.Fatalf("status has the console %q (%v)", status.Console, err)
	}
	return status.Console
}

// signIn signs in with the password of clouds.yaml.
func (b *tenantTab) signIn() {
	text, err := os.ReadFile(filepath.Join(b.dir, "clouds.yaml"))
	if err != nil {
		b.t.Fatal(err)
	}
	var clouds struct {
		Clouds map[string]struct {
			Auth struct{ Username, Password string }
		}
	}
	if err := yaml.Unmarshal(text, &clouds); err != nil {
		b.t.Fatal(err)
	}
	user := clouds.Clouds["sandbox"].Auth
	b.Open(b.t, b.console+"/clusters")
	b.Send(b.t, `form[action="/enter"]`, "user", user.Username, "password", user.Password, "project", "demo")
	b.Await(b.t, "the list of clusters", `location.pathname === "/clusters"`)
}

// within waits for an expression longer than a page takes.
func (b *tenantTab) within(limit time.Duration, what, expression string) {
	b.t.Helper()
	usual := b.Patience
	b.Patience = limit
	defer func() { b.Patience = usual }()
	b.Await(b.t, what, expression)
}

// becomes waits until the cluster's page says that it is in a state. Its node groups have states
// of their own.
func (b *tenantTab) becomes(state string) {
	b.t.Helper()
	b.within(15*time.Minute, state, `document.querySelector(".facts .big")?.innerText.includes("`+state+`") === true`)
}

// create makes a cluster, watches its page until it is complete, and uses its kubeconfig.
func (b *tenantTab) create() {
	b.t.Helper()
	b.Open(b.t, b.console+"/clusters/new")
	template := b.Text(b.t, `[...document.querySelectorAll("#f-cluster_template_id option")].map(o => o.value).filter(v => v !== "").join(" ")`)
	b.Send(b.t, "form.change", "name", "shop", "cluster_template_id", template, "master_count", "1", "node_count", "1")
	b.Await(b.t, "its page", `location.pathname.startsWith("/clusters/") && document.body.innerText.includes("create in progress")`)
	browser.Ask[bool](b.t, b.Tab, `window.same = true`)
	b.becomes("create complete")
	if !browser.Ask[bool](b.t, b.Tab, `window.same === true`) {
		b.t.Error("the page was loaded again")
	}
	folder := filepath.Join(b.folder, "shop")
	if err := os.Mkdir(folder, 0o700); err != nil {
		b.t.Fatal(err)
	}
	b.Download(b.t, folder)
	b.Click(b.t, `form[action$="/kubeconfig"] button`)
	b.eventually("the kubeconfig", time.Minute, func() (string, bool) {
		err := os.Rename(filepath.Join(folder, "shop.kubeconfig"), filepath.Join(folder, "config"))
		return "", err == nil
	})
	b.shopNodes(2)
}

// suffer lets a second worker find no host, which its page says, and gives up on it.
func (b *tenantTab) suffer() {
	b.t.Helper()
	b.do("sandbox", "faults", "add", "--dir", b.dir, "--kind", "no-valid-host", "--resource", "shop-*worker*")
	page := b.Text(b.t, "location.href")
	b.resize("2")
	b.within(10*time.Minute, "the cause", `document.querySelector("#live").innerText.includes("No valid host was found")`)
	b.becomes("update failed")
	b.do("sandbox", "faults", "remove", "--all", "--dir", b.dir)
	b.Open(b.t, page)
	b.resize("1")
	b.becomes("update complete")
	b.shopNodes(2)
}

// resize gives the default workers another number, from the cluster's page.
func (b *tenantTab) resize(workers string) {
	b.t.Helper()
	b.Open(b.t, b.Text(b.t, `[...document.querySelectorAll("tr")].find(r => r.innerText.includes("default-worker")).querySelector('a[href$="/resize"]').href`))
	b.Send(b.t, "form.change", "node_count", workers)
	b.Await(b.t, "the cluster's page", `location.pathname.startsWith("/clusters/") && !location.pathname.includes("/resize")`)
}

// upgrade replaces the machines by those of a newer image of the same Kubernetes.
func (b *tenantTab) upgrade() {
	b.t.Helper()
	b.openstack("image", "create", "--disk-format", "raw", "--container-format", "bare", "--file", filepath.Join(bundleDir(b.t), "machines", "node.raw"),
		"--property", "os_distro=ubuntu", "--property", "kube_version=v1.34.4", "patched")
	b.asked("cluster", "template", "create", "next", "--coe", "kubernetes", "--image", "patched", "--external-network", "public", "--flavor", "m1.medium", "--master-flavor", "m1.medium")
	before := b.servers()
	page := b.Text(b.t, "location.pathname")
	b.Open(b.t, b.console+page+"/upgrade")
	next := b.Text(b.t, `[...document.querySelectorAll("#f-cluster_template option")].find(o => o.innerText.includes("next")).value`)
	b.Send(b.t, "form.change", "cluster_template", next)
	b.Await(b.t, "the upgrade", `location.pathname === "`+page+`"`)
	b.becomes("update in progress")
	b.becomes("update complete")
	for name := range b.servers() {
		if _, old := before[name]; old && strings.HasPrefix(name, "shop-") {
			b.t.Errorf("server %s was not replaced", name)
		}
	}
	b.shopNodes(2)
}

// remove deletes the cluster, and waits until the list is empty.
func (b *tenantTab) remove() {
	b.t.Helper()
	at, err := url.JoinPath(b.Text(b.t, "location.href"), "delete")
	if err != nil {
		b.t.Fatal(err)
	}
	b.Open(b.t, at)
	b.Send(b.t, "form.change", "confirm", "shop")
	b.Await(b.t, "the list", `location.pathname === "/clusters"`)
	b.Await(b.t, "the deletion", `document.body.innerText.includes("delete in progress")`)
	b.within(10*time.Minute, "its end", `document.body.innerText.includes("There are no clusters")`)
}
