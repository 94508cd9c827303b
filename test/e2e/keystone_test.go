package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// logIn uses the tenant's cluster with tokens of Keystone: one of the project lists pods, and
// makes what it may; a wrong one and one of another project are those of nobody.
//
// proves: F95
func (p *project) logIn() {
	p.t.Helper()
	token := p.openstack("token", "issue", "-f", "value", "-c", "id")
	p.eventually("a user of the project lists pods", 2*time.Minute, func() (string, bool) {
		out, err := p.withToken(token, "get", "pods", "--all-namespaces", "--no-headers")
		return out, err == nil && strings.Contains(out, "keystone-auth-")
	})
	if out, err := p.withToken(token, "auth", "whoami"); err != nil || !strings.Contains(out, "keystone:demo@default") || !strings.Contains(out, "keystone:member") {
		p.t.Errorf("a user of the project is\n%s\n%v", out, err)
	}
	if out, err := p.withToken(token, "create", "configmap", "by-token", "--dry-run=server"); err != nil {
		p.t.Errorf("a user of the project makes a ConfigMap: %v\n%s", err, out)
	}
	for whose, token := range map[string]string{
		"a wrong token":              "gAAAAA" + strings.Repeat("x", 177),
		"a token of another project": p.openstack("--os-cloud", "sandbox-admin", "token", "issue", "-f", "value", "-c", "id"),
	} {
		if out, err := p.withToken(token, "get", "pods"); err == nil || !strings.Contains(out, "Unauthorized") && !strings.Contains(out, "You must be logged in") {
			p.t.Errorf("%s lists pods: %v\n%s", whose, err, out)
		}
	}
	if p.t.Failed() {
		said, err := p.shop("", "-n", "kube-system", "logs", "daemonset/keystone-auth", "--tail", "40")
		p.t.Logf("the webhook said: %v\n%s", err, said)
	}
}

// withToken runs kubectl on the tenant's cluster as whoever has a token, without a certificate,
// which would win.
func (p *project) withToken(token string, args ...string) (string, error) {
	p.t.Helper()
	cluster := func(field string) string {
		out, err := p.shop("", "config", "view", "--raw", "--flatten", "-o", "jsonpath={.clusters[0].cluster."+field+"}")
		if err != nil || out == "" {
			p.t.Fatalf("%s of the tenant's cluster: %q, %v", field, out, err)
		}
		return out
	}
	const text = `apiVersion: v1
kind: Config
clusters: [{name: shop, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: tenant, user: {token: %q}}]
contexts: [{name: shop, context: {cluster: shop, user: tenant}}]
current-context: shop
`
	path := filepath.Join(p.folder, "shop", "token")
	if err := os.WriteFile(path, fmt.Appendf(nil, text, cluster("server"), cluster("certificate-authority-data"), token), 0o600); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(bundleDir(p.t), "bin", "kubectl"), append([]string{"--kubeconfig", path, "--request-timeout=30s"}, args...)...)
	return answer(cmd)
}
