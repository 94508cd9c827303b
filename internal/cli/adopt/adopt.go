// Package adopt is `slipway adopt`: taking over what other tools made.
package adopt

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Take over what other tools made, without replacing a machine",
		Long: `Takes over what other tools made: clusters on a management cluster, that is releases of
capi-helm-charts, clusters of clusterctl and GitOps, and those of SCS; and the management
cluster of azimuth-ops itself. No machine is replaced, and no object of Cluster API is
written. See docs/guides/migrating.md.`,
	}
	cmd.AddCommand(newCluster(streams), newEnvironment(streams), newSCS(streams))
	return cmd
}

// place are the flags that the commands share.
type place struct {
	kubeconfig, namespace, format, progress string
	dryRun                                  bool
}

func newPlace() place { return place{format: "table", progress: "auto"} }

func (p *place) add(flags *pflag.FlagSet) {
	flags.StringVar(&p.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: KUBECONFIG, else ~/.kube/config)")
	flags.StringVarP(&p.namespace, "namespace", "n", "", "namespace of the clusters (default: all)")
	flags.BoolVar(&p.dryRun, "dry-run", false, "only show what would happen")
	ui.FormatFlag(flags, &p.format)
	ui.ProgressFlag(flags, &p.progress)
}

// open opens the management cluster.
func (p *place) open() (adopt.Site, error) {
	config, err := clientConfig(p.kubeconfig, "--kubeconfig", "name the kubeconfig of the management cluster that the clusters are on")
	if err != nil {
		return adopt.Site{}, err
	}
	return adopt.Open(config)
}

// clientConfig reads a kubeconfig; an empty path is that of kubectl.
func clientConfig(path, flag, remedy string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("none is given, and KUBECONFIG is not set")
	}
	if err != nil {
		return nil, fault.Usage(flag, err, remedy)
	}
	config.UserAgent = environment.UserAgent()
	return config, nil
}

// take adopts what a plan can adopt, and shows it as steps.
func (p *place) take(ctx context.Context, streams ui.Streams, site adopt.Site, plan *adopt.Plan) (taken int, err error) {
	progress, err := ui.NewProgress(p.progress, streams)
	if err != nil {
		return 0, err
	}
	defer progress.Close()
	step := event.Start(progress, "adopt", "adopting clusters")
	err = plan.Take(ctx, site, func(c *adopt.Cluster, changed bool) {
		if changed {
			taken++
			step.Run("cluster " + c.Key().String())
		}
	})
	end := "adopted"
	if taken == 0 {
		end = "there was nothing to adopt"
	}
	step.End(end, err)
	if err != nil {
		err = &fault.Fault{Exit: fault.ExitPartial, Err: err, Remedy: "correct the cause and run the command again: what is adopted stays adopted"}
	}
	return taken, err
}
