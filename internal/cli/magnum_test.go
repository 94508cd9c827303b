package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestWrongUseOfMagnum: everything that is wrong with a source is told, and no
// password is.
func TestWrongUseOfMagnum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := file("kubeconfig", `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: c, user: {}}], contexts: [{name: c, context: {cluster: c, user: c}}]}`)
	for name, test := range map[string]struct {
		args []string
		exit fault.Exit
		want string
	}{
		"no database":        {nil, fault.ExitUsage, "--from-database: it is required, or --from-api"},
		"no login":           {[]string{"--from-api"}, fault.ExitUsage, "--cloud: it is required to read Magnum's API"},
		"both sources":       {[]string{"--from-api", "--from-database", "magnum.sql"}, fault.ExitUsage, "from-api"},
		"a store of the API": {[]string{"--from-api", "--cloud", "admin", "--certificates", "barbican"}, fault.ExitUsage, "--certificates: Magnum's API does not say"},
		"a password":         {[]string{"--from-database", "mysql://magnum:hush@db/magnum"}, fault.ExitUsage, "fix: write the URL into a file"},
		"no file":            {[]string{"--from-database", filepath.Join(dir, "none")}, fault.ExitUsage, "neither a URL nor a file"},
		"no kubeconfig":      {[]string{"--from-database", file("d.sql", "-- MariaDB dump"), "--kubeconfig", filepath.Join(dir, "none")}, fault.ExitUsage, "--kubeconfig"},
		"half a dump":        {[]string{"--from-database", file("half.sql", "-- MariaDB dump"), "--kubeconfig", kubeconfig}, fault.ExitFailure, "its end is missing"},
		"nobody answers":     {[]string{"--from-database", file("url", "mysql+pymysql://magnum:hush@127.0.0.1:1/magnum"), "--kubeconfig", kubeconfig}, fault.ExitFailure, "connecting"},
		"PostgreSQL is away": {[]string{"--from-database", file("url2", "postgresql://magnum:hush@127.0.0.1:1/magnum"), "--kubeconfig", kubeconfig}, fault.ExitFailure, "connecting"},
		"other namespaces":   {[]string{"--from-database", file("magnum.conf", "[database]\nconnection = mysql://m@h/m\n[capi_helm]\nnamespace_prefix = k8s\n")}, fault.ExitFailure, "namespace_prefix is k8s"},
		"barbican, no login": {[]string{"--from-database", file("b.conf", "[database]\nconnection = mysql://m@h/m\n[certificates]\ncert_manager_type = barbican\n"), "--kubeconfig", kubeconfig}, fault.ExitUsage, "--cloud: it is required"},
		"no store":           {[]string{"--from-database", file("e.sql", "x"), "--certificates", "vault", "--kubeconfig", kubeconfig}, fault.ExitUsage, "no certificate store"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, verb := range []string{"plan", "import"} {
				code, out, errs := run(t.Context(), append([]string{"magnum", verb}, test.args...)...)
				if code != test.exit || !strings.Contains(errs, test.want) || !strings.Contains(errs, "fix: ") || out != "" {
					t.Errorf("%s: exit %d\n%s%s", verb, code, out, errs)
				}
				if strings.Contains(errs, "hush") {
					t.Errorf("%s: the password is in %s", verb, errs)
				}
			}
		})
	}
}

// TestWrongUseOfHandBack: the same on the way back.
func TestWrongUseOfHandBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := file("kubeconfig", `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: c, user: {}}], contexts: [{name: c, context: {cluster: c, user: c}}]}`)
	for name, test := range map[string]struct {
		args []string
		exit fault.Exit
		want string
	}{
		"no database":      {nil, fault.ExitUsage, "--to-database: it is required"},
		"a password":       {[]string{"--to-database", "mysql://magnum:hush@db/magnum"}, fault.ExitUsage, "--to-database: the URL has a password"},
		"a dump":           {[]string{"--to-database", file("d.sql", "-- MariaDB dump")}, fault.ExitUsage, "a dump is not written"},
		"no host":          {[]string{"--to-database", file("h", "mysql://u:hush@/")}, fault.ExitUsage, "--to-database: its URL names no host"},
		"no store":         {[]string{"--to-database", "mysql://m@h/m", "--certificates", "vault"}, fault.ExitUsage, "no certificate store"},
		"no kubeconfig":    {[]string{"--to-database", "mysql://m@h/m", "--kubeconfig", filepath.Join(dir, "none")}, fault.ExitUsage, "--kubeconfig"},
		"nobody answers":   {[]string{"--to-database", file("url", "mysql+pymysql://magnum:hush@127.0.0.1:1/magnum"), "--kubeconfig", kubeconfig}, fault.ExitFailure, "connecting"},
		"other namespaces": {[]string{"--to-database", file("magnum.conf", "[database]\nconnection = mysql://m:hush@h/m\n[capi_helm]\nnamespace_prefix = k8s\n")}, fault.ExitFailure, "namespace_prefix is k8s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := run(t.Context(), append([]string{"magnum", "hand-back"}, test.args...)...)
			if code != test.exit || !strings.Contains(errs, test.want) || !strings.Contains(errs, "fix: ") || out != "" || strings.Contains(errs, "hush") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		})
	}
}
