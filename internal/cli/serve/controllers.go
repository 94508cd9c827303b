package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// options are the flags of `slipway serve controllers`.
type options struct {
	only       []string
	kubeconfig string

	metricsAddress, healthAddress string
	logLevel, logFormat           string

	election          bool
	electionNamespace string
	shutdown          time.Duration
	fence             fenceOptions
	sameNames         bool // of a test that runs a set twice in its process
}

func newControllers(streams ui.Streams, sets []set) *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "Run the controllers of addons and of the janitor",
		Long: `Runs sets of controllers against one Kubernetes cluster:

` + describe(sets) + `
Each set elects its own leader, so replicas and processes with other sets do not
interfere. Logs go to standard error, one JSON object per line.`,
		Example: `  slipway serve controllers
  slipway serve controllers --only janitor --janitor-default-volumes-policy keep
  slipway serve controllers --kubeconfig ~/.kube/config --leader-election=false --log-format text`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams, sets) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.only, "only", nil, "run these sets of controllers (default: all)")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	flags.StringVar(&o.metricsAddress, "metrics-address", ":8080", "address of Prometheus metrics over HTTP, at /metrics; 0 turns them off")
	flags.StringVar(&o.healthAddress, "health-address", ":8081", "address of /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.logFormat, "log-format", "json", "json or text")
	flags.BoolVar(&o.election, "leader-election", true, "act only while holding a set's lease; turn it off for a single process")
	flags.StringVar(&o.electionNamespace, "leader-election-namespace", "", "namespace of the leases (default: the pod's)")
	flags.DurationVar(&o.shutdown, "shutdown-timeout", 30*time.Second, "how long current work may take to finish after a signal")
	o.fence.flags(flags)
	for _, s := range sets {
		s.flags(flags)
	}
	return cmd
}

func describe(sets []set) string {
	var text strings.Builder
	for _, s := range sets {
		fmt.Fprintf(&text, "  %-15s %s\n", s.name, s.what)
	}
	return text.String()
}

func (o options) run(ctx context.Context, streams ui.Streams, all []set) error {
	sets, err := o.choose(all)
	if err != nil {
		return err
	}
	log, err := newLogger(streams.Err, o.logLevel, o.logFormat)
	if err != nil {
		return err
	}
	log.install()
	defer collectOften()()
	config, err := o.config()
	if err != nil {
		return err
	}
	guard, err := o.fence.open(config, log)
	if err != nil {
		return err
	}
	managers, err := o.managers(config, sets, log, guard)
	if err != nil {
		return err
	}
	if err := forgetStart(); err != nil {
		log.Info("memory of the start is not released", "error", err.Error())
	}
	group, ctx := errgroup.WithContext(ctx)
	defer guard.run(ctx)()
	for i, m := range managers {
		group.Go(func() error {
			if err := m.Start(ctx); err != nil {
				return fault.New("controllers "+sets[i].name, err, "see the log above for what happened before; Kubernetes restarts the pod")
			}
			return nil
		})
	}
	return group.Wait()
}

// managers are one for each set, with the metrics of all in the process' registry.
func (o options) managers(config *rest.Config, sets []set, log logger, guard *barrier) ([]manager.Manager, error) {
	managers := make([]manager.Manager, len(sets))
	for i, s := range sets {
		var err error
		if managers[i], err = o.manager(config, s, log, i == 0, guard); err != nil {
			return nil, err
		}
	}
	return managers, errors.Join(healthOf(managers[0], managers), guard.attach(managers[0], o.electionNamespace, metrics.Registry))
}

// choose returns the selected sets. It reports all wrong names and flags at once.
func (o options) choose(all []set) ([]set, error) {
	var wrong []error
	for _, name := range o.only {
		if !slices.ContainsFunc(all, func(s set) bool { return s.name == name }) {
			wrong = append(wrong, fault.Usage("--only", fmt.Errorf("there is no set %q", name), "the sets are "+strings.Join(names(all), ", ")))
		}
	}
	var chosen []set
	for _, s := range all {
		if len(o.only) == 0 || slices.Contains(o.only, s.name) {
			chosen = append(chosen, s)
			wrong = append(wrong, s.validate())
		}
	}
	return chosen, errors.Join(wrong...)
}

func names(sets []set) []string {
	list := make([]string, len(sets))
	for i, s := range sets {
		list[i] = s.name
	}
	return list
}

// config returns the client configuration for the cluster. The client has no rate
// limit: the API server's priority and fairness decides.
func (o options) config() (*rest.Config, error) {
	var config *rest.Config
	var err error
	if o.kubeconfig != "" {
		if config, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig); err != nil {
			return nil, fault.Usage("--kubeconfig "+o.kubeconfig, err, "give a file that kubectl --kubeconfig accepts")
		}
	} else if config, err = rest.InClusterConfig(); err != nil {
		return nil, fault.Usage("--kubeconfig", fmt.Errorf("it is missing, and this process does not run in a pod: %w", err), "give the kubeconfig of the management cluster, such as from `slipway kubeconfig`")
	}
	config.QPS, config.Burst = -1, -1
	return config, nil
}
