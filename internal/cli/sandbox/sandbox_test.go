//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestMain lets the test program be the program that start runs again.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "sandbox" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cmd := New(ui.SystemStreams())
	cmd.SetArgs(os.Args[2:])
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// command runs `slipway sandbox` and returns what it printed.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := New(ui.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func ok(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(t, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// begin starts a sandbox in the background that ends with the test.
func begin(t *testing.T) (dir, said string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "cloud")
	t.Cleanup(func() { _, _ = stop(context.Background(), dir) })
	return dir, ok(t, "start", "--driver", "none", "--dir", dir, "--listen", "127.0.0.1:0")
}

func status(t *testing.T, dir string) state {
	t.Helper()
	var s state
	if err := json.Unmarshal([]byte(ok(t, "status", "--dir", dir, "-o", "json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func identity(t *testing.T, file string) *gophercloud.ServiceClient {
	t.Helper()
	auth, endpoint, tls, err := clouds.Parse(clouds.WithCloudName("sandbox-admin"), clouds.WithLocations(file))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := config.NewProviderClient(t.Context(), auth, config.WithTLSConfig(tls))
	if err != nil {
		t.Fatal(err)
	}
	client, err := openstack.NewIdentityV3(provider, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestStartKillStartStopReset(t *testing.T) {
	t.Parallel()
	dir, said := begin(t)
	s := status(t, dir)
	if !s.Running || !strings.Contains(said, s.URL) || !strings.Contains(said, "OS_CLIENT_CONFIG_FILE="+s.CloudsYAML) {
		t.Errorf("start said:\n%s\nstatus: %+v", said, s)
	}
	if again := ok(t, "start", "--driver", "none", "--dir", dir); !strings.Contains(again, "already running") || status(t, dir).PID != s.PID {
		t.Errorf("a second start said:\n%s", again)
	}
	client := identity(t, s.CloudsYAML)
	made, err := projects.Create(t.Context(), client, projects.CreateOpts{Name: "kept"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); status(t, dir).Running; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("status calls a killed sandbox running")
		}
	}
	ok(t, "start", "--driver", "none", "--dir", dir, "--listen", "127.0.0.1:0")
	if got, err := projects.Get(t.Context(), identity(t, s.CloudsYAML), made.ID).Extract(); err != nil || got.Name != "kept" {
		t.Errorf("after kill -9: %+v, %v", got, err)
	}
	ok(t, "stop", "--dir", dir)
	if out := ok(t, "stop", "--dir", dir); !strings.Contains(out, "is not running") || status(t, dir).Running {
		t.Errorf("a second stop said: %s", out)
	}
	ok(t, "reset", "--dir", dir)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("reset left the folder: %v", err)
	}
}

func TestFilesAreSecret(t *testing.T) {
	t.Parallel()
	dir, _ := begin(t)
	for _, name := range []string{"clouds.yaml", "secrets.json", "state.db", "sandbox.log"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestFaultRules(t *testing.T) {
	t.Parallel()
	dir, _ := begin(t)
	var added faultinject.Rule
	out := ok(t, "faults", "add", "--dir", dir, "--service", "identity", "--method", "GET", "--path", "/v3/projects", "--status", "503", "--times", "1", "-o", "json")
	if err := json.Unmarshal([]byte(out), &added); err != nil || added.ID == "" {
		t.Fatalf("%v: %s", err, out)
	}
	client := identity(t, filepath.Join(dir, "clouds.yaml"))
	_, err := projects.List(client, nil).AllPages(t.Context())
	if !gophercloud.ResponseCodeIs(err, 503) {
		t.Errorf("the first call got %v", err)
	}
	if _, err := projects.List(client, nil).AllPages(t.Context()); err != nil {
		t.Errorf("the second call got %v", err)
	}
	if table := ok(t, "faults", "list", "--dir", dir); !strings.Contains(table, added.ID) || !strings.Contains(table, "identity GET /v3/projects 1 times") {
		t.Errorf("list:\n%s", table)
	}
	ok(t, "stop", "--dir", dir)
	ok(t, "start", "--driver", "none", "--dir", dir, "--listen", "127.0.0.1:0")
	if s := status(t, dir); s.Faults != 1 {
		t.Errorf("after a restart there are %d rules", s.Faults)
	}
	ok(t, "faults", "remove", "--dir", dir, added.ID)
	if _, err := command(t, "faults", "remove", "--dir", dir, added.ID); err == nil {
		t.Error("removing a rule twice succeeded")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"address in use":     {[]string{"start", "--dir", filepath.Join(t.TempDir(), "a"), "--listen", taken.Addr().String()}, "in use"},
		"not loopback":       {[]string{"start", "--dir", filepath.Join(t.TempDir(), "a"), "--listen", "0.0.0.0:0"}, "loopback"},
		"unknown driver":     {[]string{"start", "--dir", filepath.Join(t.TempDir(), "a"), "--driver", "magic"}, "magic"},
		"negative factor":    {[]string{"start", "--dir", filepath.Join(t.TempDir(), "a"), "--factor", "-1"}, "negative"},
		"folder with others": {[]string{"start", "--dir", foreign}, "other things"},
		"faults of none":     {[]string{"faults", "list", "--dir", foreign}, "no sandbox is running"},
		"bad fault":          {[]string{"faults", "add", "--dir", foreign}, "needs a status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := command(t, c.args...)
			if err == nil {
				_, _ = stop(t.Context(), c.args[2])
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || fault.Remedy(err) == "" {
				t.Errorf("got %v (remedy %q)\n%s", err, fault.Remedy(err), out)
			}
		})
	}
	t.Run("reset of a foreign folder", func(t *testing.T) {
		ok(t, "reset", "--dir", foreign)
		if _, err := os.Stat(filepath.Join(foreign, "thesis.tex")); err != nil {
			t.Fatal("reset deleted what is not the sandbox's")
		}
		if sandbox.Exists(foreign) {
			t.Error("the folder became a sandbox's")
		}
	})
}

// TestLacksAreTold: what only limits machines is no warning that something is
// missing.
func TestLacksAreTold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tell(ui.Streams{Err: &out}, []site.Lack{{What: "loop devices", Without: "No machines.", Remedy: "Load it.", Fatal: true},
		{What: "CAP_SYS_RESOURCE", Without: "Machines work.", Remedy: "Start it so."}})
	if want := "Missing: loop devices. No machines. Load it.\nNote: this host lacks CAP_SYS_RESOURCE. Machines work. Start it so.\n"; out.String() != want {
		t.Errorf("told\n%s\nwant\n%s", out.String(), want)
	}
}
