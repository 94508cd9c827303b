package certs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
)

type renewOptions struct {
	from      environment.Flags
	timeout   target.Timeout
	namespace string
	yes       bool
	progress  string
	format    string
}

func newRenew(streams ui.Streams) *cobra.Command {
	o := renewOptions{timeout: target.Timeout(2 * time.Hour), progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "renew CLUSTER",
		Short: "Renew the certificates of a control plane by new machines, or those of the seed",
		Long: `Replaces the machines of a cluster's control plane, one after the other: new machines have
new certificates of the API server, etcd and their clients, for a year. The API answers all
the time if there are three machines or if one more fits into the quota. Workers are not
touched. CLUSTER is a workload cluster or the management cluster.

For the cluster seed it restarts k3s, which renews what ends within 120 days. Run slipway up
afterwards: it reads the new kubeconfig.

If it is interrupted, run it again: it continues the rollout.`,
		Example: `  slipway certs renew shop
  slipway certs renew seed --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams, args[0]) })
		},
	}
	flags := cmd.Flags()
	o.from.Add(flags)
	o.timeout.Add(flags)
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the cluster (default: the one that holds a cluster of this name)")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// renewed is what renew prints as data.
type renewed struct {
	Cluster   string  `json:"cluster"`
	Namespace string  `json:"namespace,omitempty"`
	Seconds   float64 `json:"seconds"`
}

func (o renewOptions) run(ctx context.Context, streams ui.Streams, name string) error {
	start := time.Now()
	w, err := witness.Open(ctx, o.from)
	if err != nil {
		return err
	}
	defer w.Close()
	result := renewed{Cluster: name}
	if name == certs.SeedName && o.namespace == "" {
		machine, noLogin := w.Machine()
		if noLogin != nil {
			return noLogin
		}
		err = o.seed(ctx, streams, machine)
	} else {
		result.Namespace, err = o.cluster(ctx, streams, w, name)
	}
	if err != nil {
		return err
	}
	result.Seconds = time.Since(start).Seconds()
	return ui.Output(streams.Out, o.format, result, ui.Table{Header: []string{"the certificates of " + name + " are renewed"}})
}

func (o renewOptions) confirm(ctx context.Context, streams ui.Streams, question string) error {
	if o.yes {
		return nil
	}
	return target.Confirm(ctx, streams, question)
}

// cluster renews those of a control plane, and returns its namespace.
func (o renewOptions) cluster(ctx context.Context, streams ui.Streams, w *witness.Witness, name string) (string, error) {
	r, err := find(ctx, w, name, o.namespace)
	if err != nil {
		return "", err
	}
	if err := o.confirm(ctx, streams, fmt.Sprintf("replace the machines of the control plane of cluster %s/%s, one after the other?", r.Namespace, r.Name)); err != nil {
		return "", err
	}
	return r.Namespace, ui.Step(o.progress, streams, name, "renewing certificates: new machines for the control plane", func(step *event.Step) (string, error) {
		resumed, err := r.Ask(ctx, time.Now())
		if err != nil {
			return "", err
		}
		if resumed {
			step.Wait("continuing the rollout of " + r.After.Format(time.RFC3339))
		}
		return "all machines are new", r.Await(ctx, step.Wait)
	})
}

// find looks for the cluster on the seed and on the management cluster.
func find(ctx context.Context, w *witness.Witness, name, namespace string) (*certs.Renewal, error) {
	var found []*certs.Renewal
	var unreachable []error
	for _, open := range []func() (*kube.Cluster, error){w.OnSeed, w.Management} {
		on, err := open()
		if err != nil {
			unreachable = append(unreachable, err)
			continue
		}
		if on == nil {
			continue
		}
		all, err := clusterapi.ReadAll(ctx, on.Dynamic, namespace)
		if err != nil {
			return nil, err
		}
		for _, r := range all.Reports(nil, time.Now()) {
			if r.Name == name && (namespace == metav1.NamespaceAll || r.Namespace == namespace) {
				found = append(found, &certs.Renewal{On: on, Namespace: r.Namespace, Name: name})
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fault.Usage("cluster "+name, fmt.Errorf("%d clusters have this name", len(found)), "choose one with --namespace")
	case len(unreachable) > 0:
		return nil, errors.Join(unreachable...)
	}
	return nil, fault.Usage("cluster "+name, errors.New("it does not exist"), "list the clusters with slipway cluster list; the seed is called seed")
}

// seed restarts k3s, and looks whether what was due has another end then.
func (o renewOptions) seed(ctx context.Context, streams ui.Streams, machine certs.Machine) error {
	before, err := certs.Seed(ctx, machine)
	if err != nil {
		return err
	}
	now := time.Now()
	if len(certs.DueOnSeed(before, now)) == 0 {
		return fault.New("seed", errors.New("nothing is due: k3s renews certificates only in their last 120 days"), "see their ends with slipway certs")
	}
	if err := o.confirm(ctx, streams, "restart k3s on the seed?"); err != nil {
		return err
	}
	return ui.Step(o.progress, streams, certs.SeedName, "renewing certificates: restarting k3s", func(*event.Step) (string, error) {
		if _, err := machine.Run(ctx, "systemctl", "restart", "k3s.service"); err != nil {
			return "", fault.New("k3s on the seed", err, "see its log with slipway logs")
		}
		return "run slipway up to read the new kubeconfig", renewedOnSeed(ctx, machine, now)
	})
}

// restartTime is how long k3s may take to write its certificates when it starts, and lookEvery
// how often they are looked at: its agent has them signed once the API server answers.
const (
	restartTime = 3 * time.Minute
	lookEvery   = 3 * time.Second
)

// renewedOnSeed waits until nothing is due any more.
func renewedOnSeed(ctx context.Context, machine certs.Machine, now time.Time) error {
	for end := time.Now().Add(restartTime); ; {
		after, err := certs.Seed(ctx, machine)
		if err != nil {
			return err
		}
		still := certs.DueOnSeed(after, now)
		if len(still) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fault.New("k3s on the seed", fmt.Errorf("%d certificates are still the old ones, the first: %s", len(still), still[0].Object), "see its log with slipway logs")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}
