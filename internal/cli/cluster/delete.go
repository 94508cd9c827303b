package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

type deleteOptions struct {
	from    environment.Flags
	timeout target.Timeout
	place
	volumes  string
	stores   string
	yes      bool
	progress string
	format   string
}

func newDelete(streams ui.Streams) *cobra.Command {
	o := deleteOptions{timeout: target.Timeout(30 * time.Minute), progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a workload cluster with everything that was created for it",
		Long: `Deletes a cluster that slipway cluster create made. Cluster API deletes it; the command
waits until it is gone with its load balancers and volumes. Then it deletes its object
stores, the application credential, the kubeconfig, and the namespace if nothing else is
in it. If the cluster does not exist it says so. A cluster whose credential is lost gets
another one first, because nothing can be deleted in OpenStack without one. Clusters of
the Magnum API, whether you give their name, their UUID or the name of their objects, are
refused: delete them with openstack coe cluster delete.`,
		Example: `  slipway cluster delete shop
  slipway cluster delete shop --yes --volumes keep`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams, args[0]) })
		},
	}
	flags := cmd.Flags()
	o.from.Add(flags)
	o.timeout.Add(flags)
	o.add(flags)
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	ui.ChoiceFlag(flags, &o.volumes, "volumes", []string{"delete", "keep"}, "what happens to volumes of workloads (default: spec.volumesPolicy of the environment)")
	ui.ChoiceFlag(flags, &o.stores, "object-stores", []string{"delete", "keep"}, "what happens to containers of its object stores that have objects (default: as for volumes)")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// deleted is what delete prints as data.
type deleted struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Volumes   string `json:"volumes"`
	// ObjectStores is what was to happen to containers with objects.
	ObjectStores string `json:"objectStores"`
	workload.Deletion
}

// question asks whether to delete the cluster, with what happens to its data.
func (d deleted) question(key workload.Key, stores []string) string {
	data := "volumes of workloads: " + d.Volumes
	if len(stores) > 0 {
		data += fmt.Sprintf("; objects of %s: %s", strings.Join(stores, ", "), d.ObjectStores)
	}
	return fmt.Sprintf("delete cluster %s with everything that runs on it (%s)?", key, data)
}

func (o deleteOptions) run(ctx context.Context, streams ui.Streams, name string) error {
	s, key, err := o.find(ctx, work, o.from, name)
	if err != nil {
		return err
	}
	defer s.close()
	result := deleted{Name: key.Name, Namespace: key.Namespace, Volumes: cmp.Or(o.volumes, s.loaded.Environment.Spec.VolumesPolicy)}
	result.ObjectStores = cmp.Or(o.stores, result.Volumes)
	there, err := s.MayDelete(ctx, key)
	if err != nil {
		return err
	}
	if there && !o.yes {
		stores, err := s.ObjectStores(ctx, key)
		if err != nil {
			return err
		}
		if err := target.Confirm(ctx, streams, result.question(key, stores)); err != nil {
			return err
		}
	}
	err = ui.Step(o.progress, streams, name, "deleting the cluster", func(step *event.Step) (string, error) {
		result.Deletion, err = s.Delete(ctx, s.cloud, key, workload.Retention{Volumes: result.Volumes, ObjectStores: result.ObjectStores}, step.Wait)
		return result.word(), err
	})
	if err != nil {
		return err
	}
	if err := target.RemoveClusterKubeconfig(s.loaded, key); err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, result, result.table())
}

func (d deleted) word() string {
	if !d.Deleted {
		return "there is nothing to delete"
	}
	return "deleted"
}

func (d deleted) table() ui.Table {
	return ui.Table{Header: []string{"cluster " + d.Name + ": " + d.word()}, Footer: d.Notes}
}
