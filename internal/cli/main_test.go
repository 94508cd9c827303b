package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine/pulumi"
)

// atOnce is how many environments are tested at once: most of the time they wait for their
// clouds.
const atOnce = "5"

// TestMain lets the test's binary be the engine, as main does, and slipway itself
// where a command starts others. All tests have one clouds.yaml, so that they run at once.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		streams := ui.SystemStreams()
		os.Exit(int(Report(streams, Run(ctx, streams, os.Args[1:]))))
	}
	if filepath.Base(os.Args[0]) == pulumi.Name {
		os.Exit(pulumi.Main(context.Background(), os.Args[1:], os.Environ()))
	}
	os.Exit(withClouds(m.Run))
}

// withClouds runs the tests with a clouds.yaml in a user's folder of settings.
func withClouds(tests func() int) int {
	dir, err := os.MkdirTemp("", "slipway-cli-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(os.Mkdir(filepath.Join(dir, "openstack"), 0o700), os.Setenv("XDG_CONFIG_HOME", dir))
	}
	err = errors.Join(err, os.Unsetenv("OS_CLIENT_CONFIG_FILE"), os.Unsetenv("SLIPWAY_AGE_KEY_FILE"), flag.Set("test.parallel", atOnce))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}

var addingCloud sync.Mutex

// addCloud writes the login of a clouds.yaml into that of all tests, by this name.
func addCloud(t *testing.T, name string, text []byte) {
	t.Helper()
	type entries struct {
		Clouds map[string]any `yaml:"clouds"`
	}
	var from, to entries
	check(t, yaml.Unmarshal(text, &from))
	addingCloud.Lock()
	defer addingCloud.Unlock()
	path := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "openstack", "clouds.yaml")
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	check(t, yaml.Unmarshal(text, &to))
	if to.Clouds == nil {
		to.Clouds = map[string]any{}
	}
	to.Clouds[name] = from.Clouds["sandbox"]
	text, err = yaml.Marshal(to)
	check(t, err)
	check(t, os.WriteFile(path+".new", text, 0o600))
	check(t, os.Rename(path+".new", path)) // others read it now
}

// cloudName is the name of a test's cloud.
func cloudName(t *testing.T) string {
	return "sandbox-" + strings.NewReplacer("/", "-", ",", "").Replace(t.Name())
}
