package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

type clusterOptions struct {
	place
	name   string
	all    bool
	back   bool
	values string
}

func newCluster(streams ui.Streams) *cobra.Command {
	o := &clusterOptions{place: newPlace()}
	cmd := &cobra.Command{
		Use:   "cluster [NAME]",
		Short: "Take over clusters of capi-helm-charts, clusterctl and GitOps",
		Long: `Takes over one cluster, or all clusters on a management cluster. A release of
capi-helm-charts' openstack-cluster chart, 0.10 to 0.27, becomes one of Slipway's chart
with the same values: machines keep their templates and bootstrap configuration until you
change their flavor, image or Kubernetes version. Names, Secrets, kubeconfigs and addons
stay. Any other cluster is recorded as it is: Slipway shows and deletes it, and you change
it where it was declared.

First comes a plan for each cluster: what is taken, how many machines would be replaced
(0, or the cluster is refused), what differs, and what has no counterpart. A cluster that
somebody changed by hand is refused with each difference. Adoption writes one record, and
no object of Cluster API. --hand-back undoes it, as long as you have not changed the
cluster with Slipway. What is refused does not keep the rest from being adopted; the
exit code is then 4.`,
		Example: `  slipway adopt cluster shop --dry-run
  slipway adopt cluster shop --namespace az-shops
  slipway adopt cluster --all --dry-run -o json
  slipway adopt cluster --all --values-out values/
  slipway adopt cluster shop --hand-back`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.name = args[0]
			}
			return o.run(cmd.Context(), streams)
		},
	}
	o.add(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "every cluster on the management cluster, or in --namespace")
	cmd.Flags().BoolVar(&o.back, "hand-back", false, "undo the adoption of a cluster that was not changed since")
	cmd.MarkFlagsMutuallyExclusive("hand-back", "all")
	cmd.MarkFlagsMutuallyExclusive("hand-back", "dry-run")
	cmd.Flags().StringVar(&o.values, "values-out", "", "folder to write the values of each adopted release to, without credentials, for slipway cluster create -f")
	return cmd
}

func (o *clusterOptions) run(ctx context.Context, streams ui.Streams) error {
	if (o.name == "") != o.all {
		return fault.Usage("slipway adopt cluster", errors.New("give either the name of a cluster or --all"), "see slipway adopt cluster --help")
	}
	site, err := o.open()
	if err != nil {
		return err
	}
	if o.back {
		return o.handBack(ctx, streams, site)
	}
	plan, err := adopt.New(ctx, site, o.name, o.namespace)
	if err != nil {
		return err
	}
	last := "Nothing was written: this was --dry-run."
	if !o.dryRun {
		// Before the adoption, which a further run finds done: it would write none.
		if err := o.write(plan); err != nil {
			return err
		}
		taken, err := o.take(ctx, streams, site, plan)
		if err != nil {
			return err
		}
		last = fmt.Sprintf("%d adopted. See slipway cluster list.", taken)
	}
	if err := show(streams, o.format, plan, last); err != nil {
		return err
	}
	return plan.Refused()
}

// handedBack is what --hand-back prints as data.
type handedBack struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (o *clusterOptions) handBack(ctx context.Context, streams ui.Streams, site adopt.Site) error {
	key, err := site.HandBack(ctx, o.name, o.namespace)
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, handedBack{key.Namespace, key.Name}, ui.Table{Header: []string{"cluster " + key.String() + ": handed back"}})
}

// write writes the values of the releases that are adopted, one file for each. It refuses to
// overwrite what it would not write itself, such as that of a cluster of the same name. Of those
// that were adopted before it writes what is not there, for a run that did not come so far.
func (o *clusterOptions) write(plan *adopt.Plan) error {
	if o.values == "" {
		return nil
	}
	files, err := valuesOf(plan)
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(o.values, name)
		there, err := os.ReadFile(path)
		switch {
		case err == nil && files[name].before:
			delete(files, name)
		case err == nil && string(there) != files[name].text:
			wrong = append(wrong, fault.Usage(path, errors.New("it exists already and says something else"), "remove it, or choose another --values-out; nothing was adopted"))
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	if err := os.MkdirAll(o.values, 0o700); err != nil {
		return fault.Usage("--values-out", err, "name a folder that can be written; nothing was adopted")
	}
	for name, file := range files {
		if err := os.WriteFile(filepath.Join(o.values, name), []byte(file.text), 0o600); err != nil {
			return fault.Usage("--values-out", err, "name a folder that can be written; nothing was adopted")
		}
	}
	return nil
}

// valuesFile is a file of values; before says that its release was adopted by a former run.
type valuesFile struct {
	text   string
	before bool
}

// valuesOf are the values of the releases that are adopted, by the names of their files: NAME.yaml,
// or NAMESPACE.NAME.yaml where clusters have the same name.
func valuesOf(plan *adopt.Plan) (map[string]valuesFile, error) {
	named, files := map[string]int{}, map[string]valuesFile{}
	for i := range plan.Clusters {
		named[plan.Clusters[i].Name]++
	}
	for i := range plan.Clusters {
		c := &plan.Clusters[i]
		values := c.Values()
		before := c.Verdict == adopt.Ours && len(values) > 0
		if c.Verdict != adopt.Adopt && !before {
			continue
		}
		delete(values, "clouds") // the release has it
		text, err := yaml.Marshal(values)
		if err != nil {
			return nil, fmt.Errorf("writing the values of cluster %s: %w", c.Name, err)
		}
		name := c.Name
		if named[name] > 1 {
			name = c.Namespace + "." + name // no namespace has a dot
		}
		files[name+".yaml"] = valuesFile{string(text), before}
	}
	return files, nil
}
