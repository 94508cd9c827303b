package seed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/clusterctl/move"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

func newShelve(streams ui.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "shelve",
		Short: "Shelve the seed if nothing depends on it",
		Long: `Stops the seed's server and frees its host; its data volume and its address stay.

Everything must keep running without the seed. So the command refuses unless
spec.seed.role is pivot, the pivot to the management cluster is complete, the management
cluster is ready, and no Cluster is left on the seed. While the seed is shelved, up
refuses to change anything and says so.`,
		Example: `  slipway seed shelve
  slipway seed shelve --yes -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), streams, func(ctx context.Context, t *target.Target, seed *target.Seed, progress event.Sink) (string, error) {
				return o.shelve(ctx, streams, t, seed, progress)
			})
		},
	}
	o.add(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// lookTime bounds the wait for the two clusters to answer.
const lookTime = 30 * time.Second

func (o options) shelve(ctx context.Context, streams ui.Streams, t *target.Target, seed *target.Seed, progress event.Sink) (string, error) {
	if t.Environment.Spec.Seed.Role != config.RolePivot {
		return "", fault.Usage("spec.seed.role", fmt.Errorf("it is %s: the management cluster depends on the seed", t.Environment.Spec.Seed.Role), "set it to pivot and run slipway up")
	}
	asleep, err := t.Shelved(ctx)
	if err != nil {
		return "", err
	}
	if !asleep {
		if err := free(ctx, t.Name(), seed); err != nil {
			return "", err
		}
		if !o.yes {
			if err := target.Confirm(ctx, streams, "shelve "+seed.Name+"?"); err != nil {
				return "", err
			}
		}
	}
	return t.Shelve(ctx, seed, progress)
}

// free checks that everything keeps running without the seed.
func free(ctx context.Context, name string, seed *target.Seed) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, fmt.Errorf("no answer in %s", lookTime))
	defer cancel()
	if seed.Kubeconfig == "" || seed.Management == "" {
		return unmoved(name)
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	on, err := kubernetes.Reach(machine, seed.Kubeconfig)
	if err != nil {
		return err
	}
	itself, err := kubernetes.Reach(machine, seed.Management)
	if err != nil {
		return err
	}
	return independent(ctx, on, itself, types.NamespacedName{Namespace: stacks.ManagementNamespace, Name: name})
}

func unmoved(name string) error {
	return fault.New("cluster "+name, errors.New("not all its objects are on the management cluster yet"), "run slipway up, which resumes the pivot")
}

// independent checks that the management cluster is self-managed and ready, and
// that the seed manages no cluster.
func independent(ctx context.Context, seed, management *kube.Cluster, cluster types.NamespacedName) error {
	record, err := move.Read(ctx, seed, cluster)
	if err != nil {
		return err
	}
	if record.Place() != move.Management || !record.Done() {
		return unmoved(cluster.Name)
	}
	left, err := clusterapi.Read(ctx, seed.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return fmt.Errorf("listing the seed's Clusters: %w", err)
	}
	var names []string
	for _, c := range left {
		names = append(names, c.Namespace+"/"+c.Name)
	}
	if len(names) > 0 {
		return fault.New("seed", fmt.Errorf("it still manages %s", strings.Join(names, ", ")), "delete or move these clusters: nothing else can manage them")
	}
	own, err := clusterapi.Read(ctx, management.Dynamic, cluster.Namespace)
	if err != nil {
		return fmt.Errorf("reading the management cluster's own Cluster: %w", err)
	}
	for _, c := range own {
		if c.Name != cluster.Name {
			continue
		}
		if part, waiting := c.Waiting(); waiting {
			return fault.New(part.Kind+" "+part.Name, fmt.Errorf("it is not ready: %s %s", part.State, part.Cause), "shelve the seed when slipway status shows that all is ready")
		}
		return nil
	}
	return unmoved(cluster.Name)
}
