package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/check"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// suite is what the flags say of Kubernetes' own tests.
type suite struct {
	check.Suite
	folder string
}

func newConformance(streams ui.Streams) *cobra.Command {
	o := options{name: check.Conformance, progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "conformance [CLUSTER]",
		Short: "Run Kubernetes' own conformance tests",
		Long: `Run Kubernetes' own conformance tests on the management cluster, or on the workload
cluster CLUSTER.

All of them take about two hours, one after the other, and some taint nodes or end pods:
run them on a cluster that has no other users. --parallel runs several at a time and
leaves out those that need the cluster for themselves.

The tests run in a pod on the cluster, of the image that Kubernetes publishes for its
version. Until they have ended, that pod administers the cluster. The pod, what its tests
have made, and its rights are deleted in the end, also after a failure or an interrupt.

The exit code is 0 only if no test failed.`,
		Example: `  slipway check conformance shop --output-dir results
  slipway check conformance shop --parallel 4 --exclude 'StatefulSet|Aggregator'
  slipway check conformance shop --focus 'ConfigMap.*\[Conformance\]' -o json
  slipway check conformance shop --tests-image registry.example/conformance:v1.34.4 --registry registry.example/k8s`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), streams, strings.Join(args, ""))
		},
	}
	flags := cmd.Flags()
	o.add(flags)
	flags.StringVar(&o.suite.Image, "tests-image", "", "image of the tests (default: "+component.ConformanceRepository+", of the cluster's version)")
	flags.StringVar(&o.suite.Focus, "focus", `\[Conformance\]`, "regular expression of the names of the tests to run")
	flags.StringVar(&o.suite.Exclude, "exclude", "", "regular expression of the names of tests to leave out")
	flags.IntVar(&o.suite.Processes, "parallel", 1, "how many tests run at a time; more than 1 leaves out those marked [Serial]")
	flags.StringVar(&o.suite.Registry, "registry", "", "registry that has the images of the tests, for a cluster that cannot reach Kubernetes' own")
	flags.DurationVar(&o.suite.Patience, "timeout", 3*time.Hour, "how long all tests may take")
	flags.StringVar(&o.suite.folder, "output-dir", "", "folder to write e2e.log and junit_01.xml to, which certification asks for")
	return cmd
}

// valid refuses wrong flags, all at once.
func (s suite) valid(name string) (errs []error) {
	if name != check.Conformance {
		return nil
	}
	for _, flag := range [][2]string{{"--focus", s.Focus}, {"--exclude", s.Exclude}} {
		if _, err := regexp.Compile(flag[1]); err != nil {
			errs = append(errs, fault.Usage(flag[0], err, "quote characters such as [ and ( with a backslash"))
		}
	}
	if s.Processes < 1 {
		errs = append(errs, fault.Usage("--parallel", errors.New("it is not positive"), "give 1 or more"))
	}
	if s.Patience <= 0 {
		errs = append(errs, fault.Usage("--timeout", errors.New("it is not positive"), "give a duration such as 3h"))
	}
	return errs
}

// options are those of the check. The tests are those of the cluster's version: others ask
// for what it may not have.
func (s suite) options(name string, client kubernetes.Interface) (check.Suite, error) {
	if name != check.Conformance {
		return check.Suite{}, nil
	}
	if s.folder != "" {
		if err := os.MkdirAll(s.folder, 0o755); err != nil {
			return check.Suite{}, fault.New("--output-dir "+s.folder, err, "choose another folder")
		}
		s.Keep = func(name string, text []byte) error {
			if err := os.WriteFile(filepath.Join(s.folder, name), text, 0o644); err != nil {
				return fmt.Errorf("writing the results: %w", err)
			}
			return nil
		}
	}
	if s.Image == "" {
		version, err := versionOf(client.Discovery())
		if err != nil {
			return check.Suite{}, err
		}
		s.Image = component.ConformanceRepository + ":" + version
	}
	return s.Suite, nil
}

// versionOf is Kubernetes' version without what a distribution adds: v1.34.4 for v1.34.4+k3s1.
func versionOf(client discovery.ServerVersionInterface) (string, error) {
	info, err := client.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking for the cluster's version: %w", err)
	}
	version, _, _ := strings.Cut(info.GitVersion, "+")
	return version, nil
}
