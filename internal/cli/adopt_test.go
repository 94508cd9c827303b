package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// noServer is a kubeconfig of a cluster that does not answer.
const noServer = `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: c, user: {}}], contexts: [{name: c, context: {cluster: c, user: c}}]}`

// TestWrongUseOfAdopt: what is wrong is told before anything is done.
func TestWrongUseOfAdopt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := file("kubeconfig", noServer)
	file("home/shop/clusterctl.yaml", "KUBERNETES_VERSION: v1.28.7\nWORKER_MACHINE_COUNT: 5\n")
	file("home/cluster-defaults/clusterctl.yaml", "WORKER_MACHINE_COUNT: 1\n")
	file("broken/shop/clusterctl.yaml", "a: [")
	there := filepath.Dir(file("out/shop.yaml", "something else"))
	for name, test := range map[string]struct {
		args []string
		exit fault.Exit
		want string
	}{
		"neither":                       {[]string{"cluster"}, fault.ExitUsage, "either the name of a cluster or --all"},
		"both":                          {[]string{"cluster", "shop", "--all"}, fault.ExitUsage, "either the name of a cluster or --all"},
		"no kubeconfig":                 {[]string{"cluster", "shop", "--kubeconfig", filepath.Join(dir, "none")}, fault.ExitUsage, "--kubeconfig"},
		"nobody answers":                {[]string{"cluster", "shop", "--kubeconfig", kubeconfig}, fault.ExitFailure, "connection refused"},
		"back and all":                  {[]string{"cluster", "--all", "--hand-back"}, fault.ExitUsage, "hand-back"},
		"environment, nobody answers":   {[]string{"environment", "--kubeconfig", kubeconfig}, fault.ExitFailure, "management cluster: asking for rights"},
		"environment, a seed is silent": {[]string{"environment", "--seed-kubeconfig", kubeconfig, "--hand-back"}, fault.ExitFailure, "connection refused"},
		"environment, no seed's file":   {[]string{"environment", "--seed-kubeconfig", filepath.Join(dir, "none")}, fault.ExitUsage, "--seed-kubeconfig"},
		"environment, nothing to write": {[]string{"environment", "--kubeconfig", kubeconfig, "--output-dir", dir}, fault.ExitUsage, "only the seed says what the environment is made of"},
		"environment, back and dry":     {[]string{"environment", "--hand-back", "--dry-run"}, fault.ExitUsage, "hand-back"},
		"scs, nowhere to":               {[]string{"scs", "--output-dir", dir}, fault.ExitUsage, "there is nothing to write without --settings"},
		"scs, no settings":              {[]string{"scs", "--settings", dir}, fault.ExitUsage, "it has no NAME/clusterctl.yaml"},
		"scs, broken":                   {[]string{"scs", "--settings", filepath.Join(dir, "broken")}, fault.ExitUsage, "clusterctl.yaml"},
		"scs, overwrites":               {[]string{"scs", "--settings", filepath.Join(dir, "home"), "--output-dir", there}, fault.ExitUsage, "shop.yaml: it exists already and says something else"},
		"scs, nobody's home":            {[]string{"scs", "--settings", filepath.Join(dir, "home"), "--kubeconfig", kubeconfig}, fault.ExitFailure, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := run(t.Context(), append([]string{"adopt"}, test.args...)...)
			if code != test.exit || !strings.Contains(errs, test.want) || out != "" {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		})
	}
}
