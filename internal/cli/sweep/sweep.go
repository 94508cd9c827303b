// Package sweep is `slipway sweep`.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/orphan"
	"github.com/slipway-sh/slipway/stacks/workload"
)

type options struct {
	from        environment.Flags
	timeout     target.Timeout
	delete, yes bool
	byName      []string
	stores      string
	progress    string
	format      string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{stores: "keep", progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Find what clusters that are gone have left in the project, and delete it",
		Long: `Finds load balancers, floating IPs, networks, ports, security groups, volumes, containers
of object stores and application credentials of clusters that do not exist any more, and says
for each how it is known whose it was. It starts from the application credentials that slipway
cluster create made: their ownership tag has a hash of the cluster's namespace and name. A
cluster of which a server still runs is not gone. Ports of lost machines of the management
cluster are found too.

Without --delete nothing is changed. With it, what is proved is deleted. For volumes, and
for load balancers outside the cluster's own network, only the cluster's name shows whose
they were: they stay unless you name the cluster with --by-name, and always if another
cluster has or had the name. Containers that have objects stay unless you give
--object-stores delete.

Images belong to no cluster, and are not looked for: slipway image prune finds those that
Slipway uploaded and no image manifest names any more.

The seed and the management cluster must answer, because they say which clusters exist.`,
		Example: `  slipway sweep
  slipway sweep --delete
  slipway sweep --delete --by-name shop --object-stores delete --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams) })
		},
	}
	flags := cmd.Flags()
	o.from.Add(flags)
	o.timeout.Add(flags)
	flags.BoolVar(&o.delete, "delete", false, "delete what is found")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	flags.StringArrayVar(&o.byName, "by-name", nil, "also delete what only the name of this cluster shows to be its own, as CLUSTER or NAMESPACE/CLUSTER; can be repeated")
	ui.ChoiceFlag(flags, &o.stores, "object-stores", []string{"keep", "delete"}, "what happens to containers of object stores that have objects")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// result is what sweep prints as data.
type result struct {
	Environment string          `json:"environment"`
	Orphans     []orphan.Orphan `json:"orphans"`
	Deleted     []orphan.Orphan `json:"deleted"`

	chosen []orphan.Orphan
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	w, err := witness.Open(ctx, o.from)
	if err != nil {
		return err
	}
	defer w.Close()
	s, err := survey(w)
	if err != nil {
		return err
	}
	s.Content = o.stores == "delete"
	r := result{Environment: s.Environment, Orphans: []orphan.Orphan{}, Deleted: []orphan.Orphan{}}
	found, err := s.Find(ctx)
	if err != nil {
		return err
	}
	r.Orphans = append(r.Orphans, found...)
	if err := known(o.byName, found); err != nil {
		return err
	}
	r.chosen = orphan.Chosen(found, o.byName)
	if !o.delete || len(r.chosen) == 0 {
		return ui.Output(streams.Out, o.format, r, r.table("can be deleted", "give --delete to delete them"))
	}
	if !o.yes {
		if err := ui.Output(streams.Err, "table", nil, r.table("will be deleted", "")); err != nil {
			return err
		}
		if err := target.Confirm(ctx, streams, fmt.Sprintf("delete these %d resources, including their data?", len(r.chosen))); err != nil {
			return err
		}
	}
	return o.remove(ctx, streams, s, r)
}

func (o options) remove(ctx context.Context, streams ui.Streams, s orphan.Survey, r result) error {
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	deleted, left, failed := s.Remove(ctx, r.chosen, o.byName, progress)
	progress.Close()
	r.Deleted, r.Orphans = append(r.Deleted, deleted...), append([]orphan.Orphan{}, left...)
	r.chosen = orphan.Chosen(left, o.byName)
	if err := ui.Output(streams.Out, o.format, r, r.table("could not be deleted", "")); err != nil {
		return errors.Join(failed, err)
	}
	if failed != nil {
		return &fault.Fault{Exit: fault.ExitPartial, Object: "sweep of " + s.Environment, Err: failed, Remedy: "remove the cause and run slipway sweep --delete again"}
	}
	return nil
}

// known refuses names of clusters that nothing is found of.
func known(names []string, found []orphan.Orphan) error {
	var errs []error
	for _, name := range names {
		is := false
		for _, o := range found {
			is = is || o.Named(name)
		}
		if !is {
			errs = append(errs, fault.Usage("--by-name "+name, errors.New("nothing is found of a cluster of this name that is gone"), "see the column CLUSTER of slipway sweep"))
		}
	}
	return errors.Join(errs...)
}

// survey opens all that is asked. What says which clusters exist must answer.
func survey(w *witness.Witness) (orphan.Survey, error) {
	t, err := w.Target()
	if err != nil {
		return orphan.Survey{}, err
	}
	project, err := target.ProjectID(t.Cloud)
	if err != nil {
		return orphan.Survey{}, err
	}
	seed, err := w.Seed()
	if err != nil {
		return orphan.Survey{}, fmt.Errorf("nobody knows which clusters exist: %w", err)
	}
	if seed.Kubeconfig == "" && seed.Management == "" {
		return orphan.Survey{}, fault.New("environment "+t.Name(), errors.New("its Kubernetes was not ready yet, so nobody knows which clusters exist"), "run slipway up, which continues")
	}
	look := func(ctx context.Context) (orphan.Alive, error) { return alive(ctx, w) }
	return orphan.Survey{Inventory: t.Inventory, Project: project, Environment: t.Name(), Look: look}, nil
}

func alive(ctx context.Context, w *witness.Witness) (orphan.Alive, error) {
	var a orphan.Alive
	for _, open := range []func() (*kube.Cluster, error){w.OnSeed, w.Management} {
		on, err := open()
		if err != nil {
			return a, err
		}
		if on == nil {
			continue
		}
		reports, err := clusterapi.Read(ctx, on.Dynamic, metav1.NamespaceAll)
		if err != nil {
			return a, err
		}
		for _, r := range reports {
			a.Clusters = append(a.Clusters, types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
			for _, m := range r.Machines {
				a.Machines = append(a.Machines, m.Name)
			}
		}
		marked, err := workload.Marked(ctx, on.Typed)
		if err != nil {
			return a, err
		}
		a.Clusters = append(a.Clusters, marked...)
	}
	return a, nil
}

func (r result) table(word, hint string) ui.Table {
	t := ui.Table{Header: []string{"TYPE", "NAME", "CLUSTER", "ID", "HOW IT IS KNOWN"}}
	may := map[string]bool{}
	for _, o := range r.chosen {
		may[o.Type+o.ID] = true
	}
	for _, o := range r.Orphans {
		how := o.Proof
		switch {
		case o.Kept != "":
			how += "; stays: " + o.Kept
		case !may[o.Type+o.ID]:
			how += "; stays unless you give --by-name " + o.Cluster
		}
		t.Rows = append(t.Rows, []string{o.Type, o.Name, o.Cluster, o.ID, how})
	}
	if len(r.Deleted) > 0 {
		t.Footer = append(t.Footer, fmt.Sprintf("%d deleted", len(r.Deleted)))
	}
	switch {
	case len(r.Orphans) == 0 && len(r.Deleted) == 0:
		t.Footer = append(t.Footer, "nothing is left of clusters that are gone")
	case len(r.chosen) > 0:
		t.Footer = append(t.Footer, strings.TrimSuffix(fmt.Sprintf("%d of %d %s; %s", len(r.chosen), len(r.Orphans), word, hint), "; "))
	case len(r.Orphans) > 0:
		t.Footer = append(t.Footer, fmt.Sprintf("%d stay", len(r.Orphans)))
	}
	t.Footer = append(t.Footer, "images were not looked for: slipway image prune --dry-run lists those that no image manifest names any more")
	return t
}
