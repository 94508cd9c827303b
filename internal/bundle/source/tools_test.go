package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway-sh/slipway/internal/component"
)

// kubectl is not among the programs: it is that of k3s, so it has the server's
// version (files of stacks/seed).
//
// proves: F25
func TestSeedHasToolsInPath(t *testing.T) {
	t.Parallel()
	seed, root := recipes()[seedSystem].(machine), t.TempDir()
	if err := seed.writeFiles(t.Context(), nil, root); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"helm", "k9s"} {
		text, err := os.ReadFile(filepath.Join(root, "usr/local/bin", name))
		if err != nil || !strings.Contains(string(text), "/usr/libexec/slipway/administrator "+name+" ") || seed.Programs["usr/libexec/slipway/"+name] != name {
			t.Errorf("%s: %v, %q", name, err, text)
		}
		if info, err := os.Stat(filepath.Join(root, "usr/local/bin", name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if seed.Programs["usr/local/bin/kustomize"] != "kustomize" || seed.Programs["usr/local/bin/kubectl"] != "" || seed.Version != component.K3sVersion {
		t.Errorf("programs %v, version %s", seed.Programs, seed.Version)
	}
}

// Tools reach the seed's cluster with root's kubeconfig, by sudo, and any other
// one as the user.
//
// proves: F25
func TestToolsRunAsKubectlDoes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ user, kubeconfig, want string }{
		"a user":                {"1000", "", "sudo --non-interactive env KUBECONFIG=/etc/rancher/k3s/k3s.yaml DIR/helm list -A"},
		"root":                  {"0", "", "env KUBECONFIG=/etc/rancher/k3s/k3s.yaml DIR/helm list -A"},
		"a user, other cluster": {"1000", "mine", "helm list -A"},
		"root, other cluster":   {"0", "mine", "helm list -A"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for command, does := range map[string]string{"sudo": `echo sudo "$@"`, "env": `echo env "$@"`, "id": "echo " + test.user, "helm": `echo helm "$@"`} {
				syscall.ForkLock.RLock() // or a child of another test may have it open, and it cannot be run (golang.org/issue/22315)
				err := os.WriteFile(filepath.Join(dir, command), []byte("#!/bin/sh\n"+does+"\n"), 0o755)
				syscall.ForkLock.RUnlock()
				if err != nil {
					t.Fatal(err)
				}
			}
			text, err := machineFiles.ReadFile("machines/seed/usr/libexec/slipway/administrator")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(string(text), "/usr/libexec/slipway", dir), "administrator", "helm", "list", "-A")
			cmd.Env = []string{"PATH=" + dir, "KUBECONFIG=" + test.kubeconfig}
			out, err := cmd.CombinedOutput()
			if got := strings.ReplaceAll(strings.TrimSpace(string(out)), dir, "DIR"); err != nil || got != test.want {
				t.Errorf("runs %q (%v), want %q", got, err, test.want)
			}
		})
	}
}

func TestToolsAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	for module, want := range map[string]string{
		"helm.sh/helm/v3": component.HelmVersion, "github.com/derailed/k9s": component.K9sVersion, "sigs.k8s.io/kustomize/kustomize/v5": component.KustomizeVersion,
	} {
		if got := moduleVersion("tools", module); got != want {
			t.Errorf("%s: %s is selected, the catalogue has %s", module, got, want)
		}
	}
	for _, scanner := range []string{"github.com/anchore/grype", "github.com/anchore/syft"} {
		if got := moduleVersion("tools", scanner); got != "" {
			t.Errorf("%s %s is compiled into k9s", scanner, got)
		}
	}
}
