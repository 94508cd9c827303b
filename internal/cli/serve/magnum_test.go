package serve

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/fault"
)

func TestMagnumHelp(t *testing.T) {
	t.Parallel()
	text, err := run(t, "magnum", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Examples:", "--os-cloud", "--install-crds", "--policy-file", "--public-endpoint", "--tls-cert", "--drain-time", "clouds.yaml"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help has no %q", want)
		}
	}
}

func TestMagnumWrongFlags(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(rules, []byte("cluster:crate: '@'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"half of a certificate": {[]string{"--tls-cert", "x"}, "--tls-key"},
		"a lease":               {[]string{"--controllers-lease", "x"}, "--controllers-lease"},
		"an endpoint":           {[]string{"--public-endpoint", "cloud.example"}, "--public-endpoint"},
		"a limit":               {[]string{"--max-limit", "0"}, "--max-limit: 0 is less than 1"},
		"two limits": {[]string{"--max-requests-inflight", "0", "--max-mutating-requests-inflight", "-3"},
			"--max-requests-inflight: 0 is less than 1\n--max-mutating-requests-inflight: -3 is less than 1"},
		"a member without a name of this one": {[]string{"--member", "west=https://west"}, "--member-name: it is missing"},
		"the own name for another":            {[]string{"--member-name", "west", "--member", "west=https://west"}, "west is given twice"},
		"a time":                              {[]string{"--request-timeout", "0s"}, "--request-timeout: 0s is less than 1ms"},
		"a policy file":                       {[]string{"--policy-file", rules}, "cluster:crate"},
		"no policy file":                      {[]string{"--policy-file", "/nonexistent"}, "--policy-file"},
		"a bundle":                            {[]string{"--cloud-ca", "/nonexistent"}, "--cloud-ca"},
		"a level":                             {[]string{"--log-level", "loud"}, "--log-level"},
		"a kubeconfig":                        {[]string{"--kubeconfig", "/nonexistent"}, "--kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, append([]string{"magnum"}, test.args...)...)
			if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, exit code %d; want %q", err, fault.ExitCode(err), test.want)
			}
			if fault.Remedy(err) == "" {
				t.Error("it does not say what to do")
			}
		})
	}
}

// TestTheProcessorOfNodes is that of the program, which the bundle has for one processor.
func TestTheProcessorOfNodes(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": images.Architecture(runtime.GOARCH), "all": "", "riscv64": "riscv64"} {
		o := &magnumOptions{}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.commonFlags(flags)
		o.cloudFlags(flags)
		o.apiFlags(flags)
		if err := errors.Join(flags.Set("node-architecture", given), o.check()); err != nil {
			t.Fatal(err)
		}
		if got := o.api.Rules.Architecture; got != want {
			t.Errorf("--node-architecture %q: %q, want %q", given, got, want)
		}
	}
}
