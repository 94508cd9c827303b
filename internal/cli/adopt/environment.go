package adopt

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/migrate"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/takeover"
)

type environmentOptions struct {
	place
	name, seed, image, files string
	back                     bool
}

func newEnvironment(streams ui.Streams) *cobra.Command {
	o := &environmentOptions{place: newPlace()}
	cmd := &cobra.Command{
		Use:   "environment [NAME]",
		Short: "Adopt a management cluster of azimuth-ops, and its seed",
		Long: `Adopts a management cluster that azimuth-ops made, its seed, or both. On each, Slipway's
controllers replace Azimuth's, cluster-api-addon-provider and
cluster-api-janitor-openstack, with the same kinds and settings. On the seed, the release of
the management cluster is adopted as slipway adopt cluster does. No object of Cluster API is
written, and no machine is replaced. Cluster API with its providers, cert-manager, other
releases, the seed's server and its k3s stay as they are.

First comes a plan: what becomes of each object, where it differs from what Slipway writes,
and what is not taken. If anything is not as azimuth-ops makes it, the plan lists all of it,
nothing is written on any cluster, and the exit code is 3. What was there is kept on the
cluster: --hand-back brings it back. If the command is interrupted, run it again: it
continues. A newer slipway updates the controllers.

With the seed, --output-dir gets an environment file with what the release says, for you to
read and keep. slipway up does not manage an adopted environment.`,
		Example: `  slipway adopt environment --dry-run
  slipway adopt environment --seed-kubeconfig seed.kubeconfig --dry-run -o json
  slipway adopt environment capi-mgmt-prod --seed-kubeconfig seed.kubeconfig --output-dir prod
  slipway adopt environment --kubeconfig management.kubeconfig --image registry.example.org/slipway:v1.2.0
  slipway adopt environment --seed-kubeconfig seed.kubeconfig --hand-back`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.name = args[0]
			}
			return o.run(cmd.Context(), streams)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: with --seed-kubeconfig, that which Cluster API keeps on the seed; else KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&o.seed, "seed-kubeconfig", "", "kubeconfig of the seed (default: the seed is not adopted)")
	flags.StringVar(&o.image, "image", "", "image of Slipway's controllers (default: that of this version)")
	flags.StringVar(&o.files, "output-dir", "", "folder to write the environment file to; files that exist are not overwritten")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only show what would happen")
	flags.BoolVar(&o.back, "hand-back", false, "bring back what was there before")
	cmd.MarkFlagsMutuallyExclusive("hand-back", "dry-run")
	cmd.MarkFlagsMutuallyExclusive("hand-back", "output-dir")
	ui.FormatFlag(flags, &o.format)
	ui.ProgressFlag(flags, &o.progress)
	return cmd
}

func (o *environmentOptions) run(ctx context.Context, streams ui.Streams) error {
	if o.files != "" && o.seed == "" {
		return fault.Usage("--output-dir", errors.New("only the seed says what the environment is made of"), "give its kubeconfig with --seed-kubeconfig")
	}
	sites, err := o.sites(ctx)
	if err != nil {
		return err
	}
	if o.back {
		return o.handBack(ctx, streams, sites)
	}
	plan, err := takeover.Look(ctx, sites, takeover.Options{Environment: o.name, Image: o.image})
	if err != nil {
		return err
	}
	r := &environmentReport{Plan: plan}
	if err := plan.Refused(); err != nil {
		return errors.Join(o.show(streams, r, "Nothing was written."), err)
	}
	if err := o.convert(r); err != nil {
		return err
	}
	last := "Nothing was written: this was --dry-run."
	if !o.dryRun {
		if last, err = o.takeOver(ctx, streams, r); err != nil {
			return err
		}
	}
	return o.show(streams, r, last)
}

// sites are the clusters of the environment: the management cluster first.
func (o *environmentOptions) sites(ctx context.Context) ([]takeover.Site, error) {
	var all []takeover.Site
	if o.seed != "" {
		config, err := clientConfig(o.seed, "--seed-kubeconfig", "name the kubeconfig of the seed")
		if err != nil {
			return nil, err
		}
		seed, err := takeover.Open(takeover.Seed, config)
		if err != nil {
			return nil, err
		}
		all = append(all, seed)
		name := o.name
		if o.back {
			if name, err = seed.Returning(ctx, name); err != nil {
				return nil, err
			}
		}
		if o.kubeconfig == "" {
			child, err := seed.Child(ctx, name)
			if err != nil || child == nil {
				return all, err
			}
			management, err := takeover.Open(takeover.Management, child)
			return slices.Insert(all, 0, management), err
		}
	}
	config, err := clientConfig(o.kubeconfig, "--kubeconfig", "name the kubeconfig of the management cluster")
	if err != nil {
		return nil, err
	}
	management, err := takeover.Open(takeover.Management, config)
	return slices.Insert(all, 0, management), err
}

// convert makes the environment file, and refuses to overwrite another one before anything
// is done. If nobody asked for the file, one that cannot be made keeps nothing from being adopted.
func (o *environmentOptions) convert(r *environmentReport) error {
	values, err := r.Plan.Values()
	if err != nil || values == nil {
		return err
	}
	result, err := migrate.Release(r.Plan.Environment, values)
	if err != nil && o.files == "" {
		r.unconverted = err
		return nil
	}
	if err != nil {
		return fault.New("environment file", err, "run the command without --output-dir, and write the file by hand")
	}
	r.Settings, r.files = result.Notes, result.Files
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if o.files == "" {
			continue
		}
		path := filepath.Join(o.files, name)
		r.Files = append(r.Files, path)
		there, err := os.ReadFile(path)
		if err == nil && string(there) != r.files[name] {
			wrong = append(wrong, fault.Usage(path, errors.New("it exists already and says something else"), "choose another --output-dir; slipway reads several files, later ones override earlier ones: -f "+path+" -f OTHER"))
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			wrong = append(wrong, fault.Usage(path, err, "choose another --output-dir"))
		}
	}
	return errors.Join(wrong...)
}

// takeOver does what the plan says, and returns what to tell at the end.
func (o *environmentOptions) takeOver(ctx context.Context, streams ui.Streams, r *environmentReport) (string, error) {
	changed := false
	err := o.step(streams, "adopting", "Slipway's controllers run", func(tell func(string)) (err error) {
		changed, err = r.Plan.Take(ctx, tell)
		return err
	})
	if err != nil {
		return "", err
	}
	for i, name := range slices.Sorted(maps.Keys(r.files)) {
		if o.files == "" {
			continue
		}
		if err := os.MkdirAll(o.files, 0o755); err != nil {
			return "", fault.Usage("--output-dir", err, "name a folder that can be written; the environment is adopted")
		}
		if err := ui.WriteFile(r.Files[i], 0o600, func(w io.Writer) error { _, err := io.WriteString(w, r.files[name]); return err }); err != nil {
			return "", fault.Usage("--output-dir", err, "name a folder that can be written; the environment is adopted")
		}
	}
	if !changed {
		return "There was nothing to do.", nil
	}
	return "Adopted. No object of Cluster API was changed. --hand-back brings back what was there.", nil
}

func (o *environmentOptions) handBack(ctx context.Context, streams ui.Streams, sites []takeover.Site) error {
	err := o.step(streams, "handing back", "the controllers of before run", func(tell func(string)) error { return takeover.HandBack(ctx, sites, tell) })
	if err != nil {
		return err
	}
	given := struct {
		HandedBack []takeover.Role `json:"handedBack"`
	}{[]takeover.Role{}}
	t := ui.Table{}
	for _, site := range sites {
		given.HandedBack = append(given.HandedBack, site.Role)
		t.Footer = append(t.Footer, string(site.Role)+": handed back")
	}
	return ui.Output(streams.Out, o.format, given, t)
}

// step shows work as it goes.
func (o *environmentOptions) step(streams ui.Streams, message, end string, do func(tell func(string)) error) error {
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	step := event.Start(progress, "adopt", message+" the environment")
	err = do(step.Run)
	step.End(end, err)
	return err
}
