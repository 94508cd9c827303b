package tenant_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/test/tenanttest"
)

// until loads a page again until it has a text: pages show what was read last.
func (b *browser) until(path, text string) page {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		p := b.get(path)
		if strings.Contains(p.text, text) {
			return p
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s never had %q:\n%s", path, text, p.text)
		}
	}
}

// TestCreating: mistakes are said at their fields, those of the page and those of the API.
func TestCreating(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	b := open(t, w).enter(tenanttest.Member, "shop")
	b.get("/clusters").want(200, "There are no clusters in this project yet")
	const path = "/clusters/new"
	b.get(path).want(200, "k8s · Kubernetes v1.34.2", "m1.large · ", "vCPUs", ">ops</option>", "Left of your quota")
	b.fill(path, "name", "", "node_count", "many").want(422).wrong("name", "missing").wrong("cluster_template_id", "missing").wrong("node_count", "not a whole number")
	b.fill(path, "name", "9x", "cluster_template_id", template, "master_count", "2", "labels", "oops").want(422).
		wrong("name", "begins with a letter").wrong("master_count", "odd").wrong("labels", "not key=value")
	b.fill(path, "name", "shop-prod", "cluster_template_id", template, "node_count", "-1").want(422).wrong("node_count", "at least 0")
	p := b.fill(path, "name", "shop-prod", "cluster_template_id", template, "flavor_id", "m1.gone").want(400).wrong("flavor_id", "m1.gone")
	if form := p.form(path); form.Get("name") != "shop-prod" || form.Get("flavor_id") != "m1.gone" || form.Get("cluster_template_id") != template {
		t.Errorf("what was typed is lost: %v", form)
	}
	b.fill(path, "name", "shop-prod", "cluster_template_id", template, "keypair", "nobody's").want(404).wrong("keypair", "nobody's")
	b.fill(path, "name", "shop-prod", "cluster_template_id", template, "fixed_network", "nowhere").want(400).wrong("fixed_network", "nowhere")
	b.fill(path, "name", "shop-prod", "cluster_template_id", "gone").want(404).wrong("cluster_template_id", "gone")
	made := b.fill(path, "name", "shop-prod", "cluster_template_id", template, "keypair", "ops", "labels", "team=blue").want(200, "create in progress")
	b.until("/clusters", "shop-prod")
	v := w.View(strings.TrimPrefix(made.at, "/clusters/"))
	if v == nil || v.Cluster.Spec.Labels["team"] != "blue" || v.Cluster.Spec.Keypair != "ops" {
		t.Fatalf("the cluster is %+v", v)
	}
	// A reader may look, and is told why no more.
	reader := open(t, w).enter(tenanttest.Reader, "shop")
	reader.until("/clusters", "shop-prod")
	reader.fill(path, "name", "mine", "cluster_template_id", template).want(403, "This was not done.")
	// Another project sees nothing of it.
	bank := open(t, w).enter(tenanttest.Member, "bank")
	bank.get("/clusters").want(200, "There are no clusters")
	bank.get(made.at).want(404, "could not be found")
	bank.get(made.at + "/delete").want(404)
}

// TestChanging a cluster that is ready: groups, upgrade, secrets, its end.
func TestChanging(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	newer, newest := w.Template("k8s-next", "ubuntu-1.35"), w.Template("k8s-far", "ubuntu-1.36")
	id := w.Cluster("shop-prod", template)
	b := open(t, w).enter(tenanttest.Member, "shop")
	at := "/clusters/" + id
	b.get(at).want(200, "create complete", "v1.34.2", "https://203.0.113.20:6443", "default-worker", "default-master")
	workers := at + "/groups/" + w.View(id).Default(false).UUID()
	b.fill(workers+"/resize", "node_count", "5").want(200)
	if n := w.View(id).Default(false).Spec.NodeCount; n != 5 {
		t.Errorf("%d workers", n)
	}
	w.Settle(id)
	b.fill(at+"/groups/"+w.View(id).Default(true).UUID()+"/resize", "node_count", "2").want(400, "odd")

	b.fill(at+"/groups/new", "name", "gpu-nodes", "node_count", "1", "min_node_count", "2").want(422).wrong("node_count", "less than the least")
	b.fill(at+"/groups/new", "name", "gpu-nodes", "node_count", "1", "flavor_id", "m1.large").want(200)
	w.Settle(id)
	page := b.until(at, "gpu-nodes").want(200, "/delete")
	var group string
	for _, g := range w.View(id).Groups {
		if g.Title() == "gpu-nodes" {
			group = at + "/groups/" + g.UUID()
		}
	}
	if !strings.Contains(page.text, group+"/delete") || strings.Contains(page.text, workers+"/delete") {
		t.Errorf("only the new group can be deleted:\n%s", page.text)
	}
	b.get(at+"/upgrade").want(200, "What is replaced", "default-master: 1 machine", "default-worker: 5 machines", "gpu-nodes: nothing now", "k8s-next · Kubernetes v1.35.1")
	b.fill(at+"/upgrade", "cluster_template", newest).want(409, "skip a minor version")
	b.fill(at+"/upgrade", "cluster_template", newer).want(200)
	if w.View(id).Cluster.Spec.Template.UUID != newer {
		t.Error("it was not upgraded")
	}
	w.Settle(id)
	b.get(group+"/delete").want(200, "What will be lost", "1 machine of this group")
	b.fill(group+"/delete", "confirm", "gpu").want(422).wrong("confirm", "not the name")
	b.fill(group+"/delete", "confirm", "gpu-nodes").want(200)
	w.Settle(id)
	w.Settle(id)

	former := w.View(id).Cluster.Spec.Credential.ApplicationCredentialID
	b.fill(at+"/rotate", "what", "ca").want(400, "not supported")
	b.fill(at+"/rotate", "what", "credential").want(200)
	if now := w.View(id).Cluster.Spec.Credential.ApplicationCredentialID; now == former {
		t.Error("the credential is the former one")
	}
	w.Settle(id)
	b.get(at+"/delete").want(200, "What will be lost", "All 6 machines", "https://203.0.113.20:6443")
	b.fill(at+"/delete", "confirm", "shop").want(422).wrong("confirm", "not the name")
	b.fill(at+"/delete", "confirm", "shop-prod").want(200)
	b.until("/clusters", "delete in progress")
	w.Settle(id)
	b.until("/clusters", "There are no clusters")
	b.until(at, "could not be found").want(404)
	b.get(workers + "/resize").want(404)
}

// TestKubeconfig is one by which the cluster's authority knows an administrator.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	b := open(t, w).enter(tenanttest.Member, "shop")
	at := "/clusters/" + id
	b.send(b.get(at), at+"/kubeconfig").want(409, "no certificate authority yet")
	authority := w.Authority(id)
	file := b.send(b.get(at), at+"/kubeconfig").want(200)
	if kind := file.header.Get("Content-Disposition"); kind != `attachment; filename="shop-prod.kubeconfig"` || file.header.Get("Cache-Control") != "no-store" {
		t.Errorf("it is %q, kept %q", kind, file.header.Get("Cache-Control"))
	}
	var config struct {
		Clusters []struct{ Cluster map[string]string }
		Users    []struct{ User map[string]string }
		Current  string `json:"current-context"`
	}
	if err := yaml.Unmarshal([]byte(file.text), &config); err != nil || len(config.Clusters) != 1 || len(config.Users) != 1 || config.Current != "default" {
		t.Fatalf("%v\n%s", err, file.text)
	}
	data := func(text string) []byte {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	pair, err := tls.X509KeyPair(data(config.Users[0].User["client-certificate-data"]), data(config.Users[0].User["client-key-data"]))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data(config.Clusters[0].Cluster["certificate-authority-data"])) || config.Clusters[0].Cluster["server"] != "https://203.0.113.20:6443" {
		t.Errorf("the cluster is %v", config.Clusters)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil || pair.Leaf.Issuer.CommonName != authority.Subject.CommonName ||
		pair.Leaf.Subject.CommonName != "admin" || pair.Leaf.Subject.Organization[0] != "system:masters" {
		t.Errorf("%v: %v of %v", err, pair.Leaf.Subject, pair.Leaf.Issuer)
	}
	response, err := b.Get(b.base + at + "/kubeconfig") // not by a link
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode == http.StatusOK {
		t.Error("a link signs a certificate")
	}
}
