package api

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cli is Debian's openstack command as member.
type cli struct {
	*bench
	dir string
	// env is more of the environment.
	env []string
}

// newCLI skips the test unless it is asked for: it takes a minute of a processor.
// It needs test/e2e/packages.txt.
func newCLI(t *testing.T, options ...func(*Options)) cli {
	t.Helper()
	if os.Getenv("SLIPWAY_CLIENTS") == "" {
		t.Skip("it takes a minute of a processor: set SLIPWAY_CLIENTS=1, as make clients-test does")
	}
	return cli{bench: newBench(t, options...), dir: t.TempDir()}
}

// run runs a command and ends the test when it fails.
func (c cli) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("openstack %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (c cli) try(args ...string) (string, error) { return c.start("openstack", args...) }

// start runs a program with the member's credentials.
func (c cli) start(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), program, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "OS_AUTH_URL="+c.cloud.URL()+"/identity", "OS_IDENTITY_API_VERSION=3", "OS_USERNAME=member", "OS_PASSWORD=secret", "OS_PROJECT_NAME=shop",
		"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_REGION_NAME=RegionOne", "PYTHONWARNINGS=ignore", "HOME="+c.dir,
		"SHELL=/bin/sh") // `coe cluster config` reads it unasked, and CI has none
	cmd.Env = append(cmd.Env, c.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		return out.String() + errs.String(), err
	}
	return out.String(), nil
}

// clusterAt reads a cluster by the client's library at a microversion.
const clusterAt = `
import json, sys
import openstack
from magnumclient.v1.client import Client
session = openstack.connect().session
print(json.dumps(Client(session=session, region_name="RegionOne", api_version=sys.argv[1]).clusters.get(sys.argv[2]).to_dict()))
`

// at is a cluster as the client's library sees it at a microversion.
func (c cli) at(version, cluster string) map[string]any {
	c.t.Helper()
	out, err := c.start("/usr/bin/python3", "-c", clusterAt, version, cluster)
	var members map[string]any
	if err != nil || json.Unmarshal([]byte(out), &members) != nil {
		c.t.Fatalf("at version %s: %v: %s", version, err, out)
	}
	return members
}

// show is run with JSON output of one object.
func (c cli) show(args ...string) map[string]any {
	c.t.Helper()
	var members map[string]any
	text := c.run(append(args, "-f", "json")...)
	text = text[max(strings.IndexByte(text, '{'), 0):] // "Request … accepted" goes before
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
	return members
}

func (c cli) rows(args ...string) []map[string]any {
	c.t.Helper()
	var rows []map[string]any
	text := c.run(append(args, "-f", "json")...)
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
	return rows
}

// signed is a certificate of an authority.
func (b *bench) signed(text, authority string) {
	b.t.Helper()
	certificate := b.certificate(text)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(authority))
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		b.t.Errorf("signed: %v", err)
	}
}

// TestOpenStackClient does what users do with the real client. What only newer
// clients do is in TestOpenStackClientNewest.
//
// proves: M-F1, M-F2, M-F5, M-F7
func TestOpenStackClient(t *testing.T) {
	t.Parallel()
	c := newCLI(t, func(o *Options) { o.Rules.RotateCA = true })
	b := c.bench
	b.infra(member, "/v1", "")
	template := c.show("coe", "cluster", "template", "create", "k8s", "--coe", "kubernetes", "--image", "ubuntu-1.34", "--external-network", "public", "--flavor", "m1.large", "--master-lb-enabled")
	if template["links"] != nil || template["name"] != "k8s" {
		t.Errorf("template %v", template)
	}
	if shown := c.show("coe", "cluster", "template", "show", "k8s"); shown["uuid"] != template["uuid"] {
		t.Errorf("template %v", shown)
	}
	c.run("coe", "cluster", "template", "update", "k8s", "replace", "tags=a,b", "labels=x=y")
	var uuid string
	for _, name := range []string{"one", "two", "three"} {
		said := c.run("coe", "cluster", "create", name, "--cluster-template", "k8s", "--keypair", "ops", "--node-count", "1")
		uuid = strings.Fields(said)[4] // "Request to create cluster <uuid> accepted"
		b.settle(uuid)
	}
	if rows := c.rows("coe", "cluster", "list", "--limit", "1"); len(rows) != 1 {
		t.Errorf("one page: %v", rows)
	}
	if rows := c.rows("coe", "cluster", "list", "--limit", "2"); len(rows) != 2 {
		t.Errorf("two pages: %v", rows)
	}
	rows := c.rows("coe", "cluster", "list")
	if len(rows) != 3 || rows[0]["name"] != "one" || rows[0]["status"] != "CREATE_COMPLETE" || rows[0]["health_status"] != "HEALTHY" {
		t.Errorf("clusters %v", rows)
	}
	if shown := c.show("coe", "cluster", "show", "three"); shown["uuid"] != uuid || shown["api_address"] != "https://203.0.113.20:6443" {
		t.Errorf("cluster %v", shown)
	}
	if before, since := c.at("1.12", "three"), c.at("1.13", "three"); before["stack_id"] == nil || before["cluster_id"] != nil ||
		since["cluster_id"] != before["stack_id"] || since["stack_id"] != nil {
		t.Errorf("at 1.12 %v, at 1.13 %v", before, since)
	}
	ca := string(b.authorities(uuid)["ca"])
	said := c.run("coe", "cluster", "config", "three", "--dir", c.dir, "--output-certs")
	config, err := os.ReadFile(filepath.Join(c.dir, "config"))
	if err != nil || !strings.Contains(string(config), "https://203.0.113.20:6443") || !strings.Contains(said, "KUBECONFIG=") {
		t.Errorf("%s: %s %v", said, config, err)
	}
	keystoneDir := t.TempDir()
	c.run("coe", "cluster", "config", "three", "--dir", keystoneDir, "--use-keystone")
	if config, err := os.ReadFile(filepath.Join(keystoneDir, "config")); err != nil || !strings.Contains(string(config), "openstackuser") {
		t.Errorf("%s %v", config, err)
	}
	if shown := c.run("coe", "ca", "show", "three"); strings.TrimSpace(shown) != strings.TrimSpace(ca) {
		t.Errorf("CA %s", shown)
	}
	csr := filepath.Join(c.dir, "csr.pem")
	b.must(os.WriteFile(csr, []byte(b.csr(b.ecKey(), 0)), 0o600))
	b.signed(c.run("coe", "ca", "sign", "three", csr), ca)
	c.run("coe", "nodegroup", "create", "three", "gpu-1", "--node-count", "2", "--min-nodes", "1", "--max-nodes", "4", "--labels", "a=b")
	b.settle(uuid)
	if groups := c.rows("coe", "nodegroup", "list", "three"); len(groups) != 3 || groups[2]["name"] != "gpu-1" {
		t.Errorf("groups %v", groups)
	}
	c.run("coe", "nodegroup", "update", "three", "gpu-1", "replace", "max_node_count=3")
	b.settle(uuid)
	if group := c.show("coe", "nodegroup", "show", "three", "gpu-1"); group["max_node_count"] != 3.0 || group["status"] != "UPDATE_COMPLETE" {
		t.Errorf("group %v", group)
	}
	c.run("coe", "nodegroup", "delete", "three", "gpu-1")
	c.run("coe", "cluster", "resize", "two", "2")
	c.run("coe", "cluster", "update", "one", "replace", "node_count=3")
	if shown := c.show("coe", "cluster", "show", "one"); shown["node_count"] != 3.0 || shown["status"] != "UPDATE_IN_PROGRESS" {
		t.Errorf("cluster %v", shown)
	}
	if out, err := c.try("coe", "cluster", "create", "bad", "--cluster-template", "nothing"); err == nil || !strings.Contains(out, "could not be found") {
		t.Errorf("an unknown template: %v %s", err, out)
	}
	b.settle(uuid)
	c.run("coe", "ca", "rotate", "three")
	c.run("coe", "quotas", "show", "--project-id", b.project, "--resource", "Cluster")
	c.run("coe", "stats", "list", b.project)
	c.run("coe", "cluster", "delete", "three")
	if rows := c.rows("coe", "cluster", "list"); len(rows) != 3 || rows[2]["status"] != "DELETE_IN_PROGRESS" {
		t.Errorf("clusters %v", rows)
	}
}
