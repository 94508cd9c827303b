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

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/migrate"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

type scsOptions struct {
	place
	settings, output string
}

func newSCS(streams ui.Streams) *cobra.Command {
	o := &scsOptions{place: newPlace()}
	cmd := &cobra.Command{
		Use:   "scs",
		Short: "Take over the clusters of SCS' k8s-cluster-api-provider",
		Long: `Reports the clusters on an SCS management server's cluster, and records those that are
whole as they are: nothing is converted. All objects of a cluster with a ClusterClass (R6
and later) must belong to its topology: if its migration from cluster templates stopped
half-way, it is refused. Clusters of cluster templates are recorded with their templates.

With --settings, the home folder of the server's user or a copy of it, the settings of each
cluster (NAME/clusterctl.yaml) become one declarative file NAME.yaml in --output-dir, for
building the cluster again with slipway cluster create -f. Every setting is reported;
secrets are not copied.`,
		Example: `  slipway adopt scs --dry-run
  slipway adopt scs --settings /home/ubuntu --output-dir clusters/
  slipway adopt scs --kubeconfig capi.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.add(cmd.Flags())
	cmd.Flags().StringVar(&o.settings, "settings", "", "folder with a folder NAME for each cluster, which has its clusterctl.yaml")
	cmd.Flags().StringVar(&o.output, "output-dir", "", "folder to write NAME.yaml of each cluster to; files that exist are not overwritten")
	return cmd
}

// report is what scs prints as data.
type report struct {
	*adopt.Plan
	Settings []settings `json:"settings"`
}

// settings are those of one cluster, and what became of each.
type settings struct {
	Cluster string `json:"cluster"`
	// File is the declarative file; empty if none was written.
	File  string         `json:"file,omitempty"`
	Notes []migrate.Note `json:"notes"`
	text  string
}

func (o *scsOptions) run(ctx context.Context, streams ui.Streams) error {
	if o.output != "" && o.settings == "" {
		return fault.Usage("--output-dir", errors.New("there is nothing to write without --settings"), "name the folder with the clusters' settings")
	}
	converted, err := o.convert()
	if err != nil {
		return err
	}
	if err := o.vacant(converted); err != nil {
		return err
	}
	site, err := o.open()
	if err != nil {
		return err
	}
	plan, err := adopt.New(ctx, site, "", o.namespace)
	if err != nil {
		return err
	}
	// SCS has no releases: one of capi-helm-charts is for slipway adopt cluster.
	plan.Clusters = slices.DeleteFunc(plan.Clusters, func(c adopt.Cluster) bool { return c.Verdict == adopt.Adopt })
	last := "Nothing was written: this was --dry-run."
	if !o.dryRun {
		taken, err := o.take(ctx, streams, site, plan)
		if err != nil {
			return err
		}
		if err := o.write(converted); err != nil {
			return err
		}
		last = fmt.Sprintf("%d adopted as they are. See slipway cluster list.", taken)
	}
	r := report{plan, converted}
	t := table(plan, "")
	for _, one := range converted {
		t.Footer = append(t.Footer, one.lines(plan)...)
	}
	t.Footer = append(t.Footer, last)
	if err := ui.Output(streams.Out, o.format, r, t); err != nil {
		return err
	}
	return plan.Refused()
}

// convert reads the settings of all clusters; all mistakes are told at once.
func (o *scsOptions) convert() ([]settings, error) {
	all := []settings{}
	if o.settings == "" {
		return all, nil
	}
	const remedy = "name the home folder of the management server's user, or a copy of it"
	folders, err := os.ReadDir(o.settings)
	if err != nil {
		return nil, fault.Usage("--settings "+o.settings, err, remedy)
	}
	var files []string
	for _, folder := range folders {
		file := filepath.Join(o.settings, folder.Name(), "clusterctl.yaml")
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fault.Usage("--settings "+o.settings, errors.New("it has no NAME/clusterctl.yaml"), remedy)
	}
	var wrong []error
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if name == "cluster-defaults" {
			continue
		}
		result, err := migrate.SCSCluster(file, name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		one := settings{Cluster: name, Notes: result.Notes}
		for _, key := range slices.Sorted(maps.Keys(result.Files)) {
			if key != config.DefaultFile {
				one.text = result.Files[key]
			}
		}
		all = append(all, one)
	}
	return all, errors.Join(wrong...)
}

// vacant refuses to overwrite files, before anything is done, and names each.
func (o *scsOptions) vacant(all []settings) error {
	if o.output == "" || o.dryRun {
		return nil
	}
	var wrong []error
	for i := range all {
		if all[i].text == "" {
			continue
		}
		all[i].File = filepath.Join(o.output, all[i].Cluster+".yaml")
		there, err := os.ReadFile(all[i].File)
		if err == nil && string(there) != all[i].text {
			wrong = append(wrong, fault.Usage(all[i].File, errors.New("it exists already and says something else"), "remove it, or choose another --output-dir"))
		}
	}
	return errors.Join(wrong...)
}

func (o *scsOptions) write(all []settings) error {
	for _, one := range all {
		if one.File == "" {
			continue
		}
		if err := os.MkdirAll(o.output, 0o755); err != nil {
			return fault.Usage("--output-dir", err, "name a folder that can be written")
		}
		if err := os.WriteFile(one.File, []byte(one.text), 0o600); err != nil {
			return fault.Usage("--output-dir", err, "name a folder that can be written; the clusters are adopted")
		}
	}
	return nil
}

// lines say what became of a cluster's settings, and whether there is such a cluster.
func (s settings) lines(plan *adopt.Plan) []string {
	counts := map[migrate.Level]int{}
	for _, note := range s.Notes {
		counts[note.Level]++
	}
	line := fmt.Sprintf("settings of %s: %d converted, %d to check, %d without counterpart, %d secret (-o json lists them)", s.Cluster,
		counts[migrate.Converted], counts[migrate.Changed], counts[migrate.Dropped], counts[migrate.Secret])
	if s.File != "" {
		line += "; in " + s.File
	}
	all := []string{line}
	if !slices.ContainsFunc(plan.Clusters, func(c adopt.Cluster) bool { return c.Name == s.Cluster }) {
		all = append(all, "settings of "+s.Cluster+": there is no cluster of this name")
	}
	return all
}
