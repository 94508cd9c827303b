package horizon

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/test/browser"
)

// TestHorizon signs in as a user of a project and uses the panels: templates and clusters are
// listed, a cluster is created, its certificates and configuration are got, it is resized,
// upgraded and deleted, and nothing of that leaves an error on the page or at the endpoint.
func TestHorizon(t *testing.T) {
	program := browser.Program(t)
	w := newWorld(t)
	w.keypair("ops")
	w.image("node-1.33", "v1.33.8")
	w.image("node-1.34", "v1.34.4")
	w.template("ubuntu-1.33", "node-1.33", "v1.33.8")
	w.template("ubuntu-1.34", "node-1.34", "v1.34.4")
	s := w.enter(browser.Launch(t, program), "demo", w.password())
	s.well("sign in")
	s.panel("cluster_templates")
	s.shows("ubuntu-1.33", "kubernetes")
	s.well("templates")
	s.create("shop-prod")
	s.details("shop-prod")
	s.certificates("shop-prod")
	s.resize("shop-prod")
	s.upgrade("shop-prod", "ubuntu-1.34")
	s.remove("shop-prod")
}

// create creates a cluster by the form.
func (s *session) create(name string) {
	s.Helper()
	s.panel("clusters")
	s.pressText("document", "Create Cluster")
	s.set("[name=name]", name)
	s.choose("[name=cluster_template_id]", "ubuntu-1.33")
	s.choose("[name=availability_zone]", "nova")
	s.choose("[name=keypair]", "ops")
	s.set("[name=master_count]", "1")
	s.choose("[name=master_flavor_id]", "m1.large")
	s.set("[name=node_count]", "2")
	s.choose("[name=flavor_id]", "m1.medium")
	s.tab.Shot(s, "horizon-form")
	s.submit()
	s.told("was successfully created")
	s.shows(name, "CREATE_IN_PROGRESS")
	s.well("create")
	c := s.cluster(name)
	if c.Spec.MasterCount != 1 || *c.Spec.NodeCount != 2 || c.Spec.FlavorID != "m1.medium" || c.Spec.MasterFlavorID != "m1.large" || c.Spec.Keypair != "ops" ||
		c.Spec.Labels["availability_zone"] != "nova" || c.Spec.Labels["team"] != "shop" {
		s.Errorf("the form made %+v of %s", c.Spec, s.last("POST"))
	}
	s.settle(name)
	s.authority(name)
	s.panel("clusters")
	s.shows(name, "CREATE_COMPLETE")
	s.well("created")
}

// details opens the page of the cluster, and goes back to the list.
func (s *session) details(name string) {
	s.Helper()
	s.tab.Do(s, chromedp.Navigate(s.cloud.Dashboard()+"/ngdetails/OS::Magnum::Cluster/"+s.cluster(name).UUID()))
	s.tab.Await(s, "the API address", fmt.Sprintf(`document.body.innerText.includes(%q) && document.body.innerText.includes("ubuntu-1.33")`, apiAddress))
	s.well("details")
	s.panel("clusters")
}

// certificates gets what a client of the cluster needs.
func (s *session) certificates(name string) {
	s.Helper()
	s.act(name, "Show Certificate")
	roots := x509.NewCertPool()
	if text := s.downloaded(name + "_ca.pem"); !roots.AppendCertsFromPEM([]byte(text)) {
		s.Fatalf("no certificate authority: %s", text)
	}
	s.well("show certificate")
	s.act(name, "Sign Certificate")
	s.set(".modal-body textarea", s.request("alice"))
	s.submit()
	s.told("was successfully signed")
	s.well("sign certificate")
	s.verify(s.last("POST").answer, roots)
	s.act(name, "Get Cluster Config")
	s.verify(s.downloaded(name+"_cert.pem"), roots)
	if text := s.downloaded(name + "_config.txt"); !strings.Contains(text, "server: "+apiAddress) {
		s.Errorf("the configuration is\n%s", text)
	}
	s.downloaded(name + "_key.pem")
	s.well("cluster config")
}

// verify fails unless a text has a certificate of the authority.
func (s *session) verify(text string, roots *x509.CertPool) {
	s.Helper()
	_, text, _ = strings.Cut(strings.ReplaceAll(text, `\n`, "\n"), "-----BEGIN CERTIFICATE-----")
	block, _ := pem.Decode([]byte("-----BEGIN CERTIFICATE-----" + text))
	if block == nil {
		s.Fatalf("no certificate: %s", text)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	s.must(err)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		s.Errorf("the certificate: %v", err)
	}
}

// resize gives the cluster a third worker.
func (s *session) resize(name string) {
	s.Helper()
	s.act(name, "Resize Cluster")
	s.set(".modal-body [name=node_count]", "3")
	s.submit()
	s.told("Cluster is being resized")
	s.panel("clusters")
	s.shows(name, "UPDATE_IN_PROGRESS")
	for _, g := range s.groups(s.cluster(name)) {
		if g.Spec.Name == v1alpha1.DefaultWorker && g.Spec.NodeCount != 3 {
			s.Errorf("%d workers are wanted", g.Spec.NodeCount)
		}
	}
	s.settle(name)
	s.panel("clusters")
	s.shows(name, "UPDATE_COMPLETE")
	s.well("resize")
}

// upgrade moves the cluster to a template with a newer version.
func (s *session) upgrade(name, template string) {
	s.Helper()
	s.act(name, "Rolling Cluster Upgrade")
	s.choose(".modal-body [name=cluster_template_id]", template)
	s.submit()
	s.told("Cluster is being upgraded")
	if c := s.cluster(name); c.Spec.Template.Name != template || c.Spec.Resolved.Image.KubernetesVersion != "1.34.4" {
		s.Errorf("the cluster has %+v and %+v", c.Spec.Template, c.Spec.Resolved)
	}
	s.settle(name)
	s.panel("clusters")
	s.shows(name, "UPDATE_COMPLETE")
	s.well("upgrade")
}

// remove deletes the cluster.
func (s *session) remove(name string) {
	s.Helper()
	s.act(name, "Delete Cluster")
	s.submit()
	s.panel("clusters")
	s.shows(name, "DELETE_IN_PROGRESS")
	s.settle(name)
	s.panel("clusters")
	s.tab.Await(s, "the end of the cluster", row(name)+" === undefined")
	s.well("delete")
}
