package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := New(ui.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestHelpHasEverySetAndExamples(t *testing.T) {
	t.Parallel()
	text, err := run(t, "controllers", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"janitor", "addon-provider", "--only janitor", "--metrics-address", "--janitor-default-volumes-policy", "--addon-charts", "Examples:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help has no %q", want)
		}
	}
}

func TestWrongFlagsAreToldBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"unknown sets":   {[]string{"--only", "janitr,addons"}, []string{`"janitr"`, `"addons"`}},
		"wrong policy":   {[]string{"--janitor-default-volumes-policy", "drop"}, []string{`"drop"`}},
		"too few":        {[]string{"--janitor-workers", "1", "--janitor-retry-delay", "0s"}, []string{"workers", "retry delay"}},
		"unknown level":  {[]string{"--log-level", "loud"}, []string{"--log-level"}},
		"no such values": {[]string{"--only", "magnum", "--magnum-values", "/nonexistent"}, []string{"--magnum-values", "/nonexistent"}},
		"unknown format": {[]string{"--log-format", "xml"}, []string{"--log-format"}},
		"no such file":   {[]string{"--kubeconfig", "/nonexistent"}, []string{"--kubeconfig /nonexistent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, append([]string{"controllers"}, test.args...)...)
			if fault.ExitCode(err) != fault.ExitUsage {
				t.Fatalf("error %v, exit code %d", err, fault.ExitCode(err))
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %s", err, want)
				}
			}
			if fault.Remedy(fault.All(err)[0]) == "" {
				t.Errorf("no remedy for %v", err)
			}
		})
	}
}

func TestChooseSets(t *testing.T) {
	t.Parallel()
	none := func(*pflag.FlagSet) {}
	sets := []set{{name: "a", flags: none, validate: func() error { return nil }},
		{name: "b", flags: none, validate: func() error { return errors.New("b is wrong") }}}
	if chosen, err := (options{only: []string{"a"}}).choose(sets); err != nil || len(chosen) != 1 {
		t.Errorf("%d sets, error %v: what is not chosen need not be right", len(chosen), err)
	}
	if _, err := (options{}).choose(sets); err == nil {
		t.Error("flags of all sets are wrong and nobody says so")
	}
}

func TestLogsAreLinesOfJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := newLogger(&out, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.named("janitor").Info("attempt failed", "cause", "the cloud answered 503")
	log.named("janitor").V(4).Info("too much")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	if line["msg"] != "attempt failed" || line["cause"] != "the cloud answered 503" || line["logger"] != "janitor" {
		t.Errorf("line %v", line)
	}
}

// quiet is a set without controllers.
func quiet(name string) set {
	return set{name: name, flags: func(*pflag.FlagSet) {}, validate: func() error { return nil },
		scheme: func(*runtime.Scheme) error { return nil }, setup: func(manager.Manager, *barrier) error { return nil }}
}
