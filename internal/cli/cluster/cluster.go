// Package cluster is `slipway cluster`: workload clusters on an environment's
// management cluster, without the Magnum API.
package cluster

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Create, show and delete workload clusters without the Magnum API",
		Long: `Workload clusters for operators, without the Magnum API. Each one is a Helm release of
the openstack-cluster chart, which takes the values of capi-helm-charts. Each has a
namespace and an application credential of its own. See docs/guides/clusters.md.`,
	}
	cmd.AddCommand(newCreate(streams), newList(streams), newDescribe(streams), newKubeconfig(streams), newRotate(streams), newDelete(streams))
	return cmd
}

// place is the flag by which a cluster is found.
type place struct{ namespace string }

func (p *place) add(flags *pflag.FlagSet) {
	flags.StringVarP(&p.namespace, "namespace", "n", "", "namespace of the cluster (default: the one that holds a cluster of this name)")
}

// find opens a session, by look or work, and finds a cluster of that name. Close the session
// in the end.
func (p place) find(ctx context.Context, open func(context.Context, environment.Flags) (*session, error), from environment.Flags, name string) (*session, workload.Key, error) {
	s, err := open(ctx, from)
	if err != nil {
		return nil, workload.Key{}, err
	}
	key, err := s.Find(ctx, name, p.namespace)
	if err != nil {
		s.close()
		return nil, workload.Key{}, err
	}
	return s, key, nil
}

// session is what commands work with; close it in the end.
type session struct {
	*workload.Management
	loaded *config.Loaded
	cloud  workload.Cloud
	// defaults are the environment's values for clusters.
	defaults map[string]any
	close    func()
}

// look opens the management cluster; the cloud is not asked.
func look(ctx context.Context, from environment.Flags) (*session, error) {
	m, loaded, leave, err := target.OpenManagement(ctx, from)
	if err != nil {
		return nil, err
	}
	return &session{Management: m, loaded: loaded, close: leave}, nil
}

// work opens the management cluster and the cloud.
func work(ctx context.Context, from environment.Flags) (*session, error) {
	t, err := target.Open(ctx, from, event.Discard{})
	if err != nil {
		return nil, err
	}
	seed, err := t.Seed(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{loaded: t.Loaded}
	if s.Management, s.close, err = seed.OpenManagement(ctx, t.Loaded); err != nil {
		return nil, err
	}
	if s.cloud, err = t.WorkloadCloud(seed); err == nil {
		s.defaults, err = seed.WorkloadValues(t.Loaded)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}
