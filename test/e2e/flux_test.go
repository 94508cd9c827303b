package e2e

import (
	"net/http/cgi"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gitOps has Flux follow a repository, and a Kustomization that must apply as an account without
// rights; %s is the repository's address.
const gitOps = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: site}
spec: {url: %s, interval: 1m, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: site}
spec: {interval: 1m, prune: true, path: ./, sourceRef: {kind: GitRepository, name: site}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: powerless}
spec: {interval: 1m, prune: true, path: ./, sourceRef: {kind: GitRepository, name: site}, serviceAccountName: default, targetNamespace: kube-public}
`

// repository is one of Git, served to machines.
type repository struct {
	t       *testing.T
	folder  string
	address string
}

// serveGit starts an empty repository at the host's address until the test ends.
func (p *project) serveGit() *repository {
	p.t.Helper()
	r := &repository{t: p.t, folder: filepath.Join(p.t.TempDir(), "site")}
	run(p.t, "git", "init", "--quiet", "--initial-branch", "main", r.folder)
	backend := filepath.Join(strings.TrimSpace(run(p.t, "git", "--exec-path")), "git-http-backend")
	address := p.serve(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.folder), "GIT_HTTP_EXPORT_ALL=1"}}, nil)
	r.address = "http://" + address + "/site/.git"
	return r
}

// commit writes a file, or deletes it if it is empty.
func (r *repository) commit(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.folder, name)
	if text == "" {
		if err := os.Remove(path); err != nil {
			r.t.Fatal(err)
		}
	} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	run(r.t, "git", "-C", r.folder, "add", "--all")
	run(r.t, "git", "-C", r.folder, "-c", "user.name=proof", "-c", "user.email=proof@example.com", "commit", "--quiet", "--message", name)
}

// followsGit has Flux apply what is in a repository, what changes there, and delete what is
// deleted there.
func (s *shopOfAddons) followsGit() {
	s.t.Helper()
	git := s.serveGit()
	const banner, motd = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: banner, namespace: default}\ndata: {text: \"", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: motd, namespace: default}\ndata: {text: x}\n"
	git.commit("banner.yaml", banner+"open\"}\n")
	git.commit("motd.yaml", motd)
	s.applies(strings.Replace(gitOps, "%s", git.address, 1))
	s.reads("open", "default", "configmap/banner", ".data.text")
	s.reads("x", "default", "configmap/motd", ".data.text")
	git.commit("banner.yaml", banner+"closed\"}\n")
	git.commit("motd.yaml", "")
	s.reads("closed", "default", "configmap/banner", ".data.text")
	s.eventually("a deleted object", 5*time.Minute, func() (string, bool) {
		out, err := s.by(s.kubeconfig, "", "get", "configmap", "motd", "-o", "name")
		return out, err != nil && strings.Contains(out, "not found")
	})
	s.eventually("an account without rights", 5*time.Minute, func() (string, bool) {
		out, err := s.by(s.kubeconfig, "", "get", "kustomization.kustomize.toolkit.fluxcd.io", "powerless", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
		return out, err == nil && strings.Contains(out, "forbidden") && strings.Contains(out, "system:serviceaccount:default:default")
	})
}

// keepsWhatFluxApplied looks at what is there after Flux is switched off.
func (s *shopOfAddons) keepsWhatFluxApplied() {
	s.t.Helper()
	s.reads("closed", "default", "configmap/banner", ".data.text")
	s.reads("site", "default", "kustomization.kustomize.toolkit.fluxcd.io/site", ".metadata.name")
}
