package magnum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// backOptions are the flags of hand-back.
type backOptions struct {
	site        options
	to          string
	dryRun      bool
	skipRefused bool
	choices     moving.Choices
}

func newHandBack(streams ui.Streams) *cobra.Command {
	o := &backOptions{site: options{format: "table", progress: "auto"}}
	cmd := &cobra.Command{
		Use:   "hand-back",
		Short: "Give back to Magnum what was adopted, with what changed since",
		Long: `Writes into Magnum's database what changed since Slipway adopted it: templates, quotas,
clusters and node groups that were made, changed or deleted. Clusters keep their machines,
releases and Secrets, of which nothing is written, and their resources become copies of
Magnum's again, which an import can adopt another time. Magnum must be stopped.

First it says what becomes of everything. If anything is refused, all reasons are listed and
nothing is written (exit code 3); --skip-refused leaves that with Slipway. The rows of a
cluster are written in one transaction. If the command is interrupted, run it again.`,
		Example: `  slipway magnum hand-back --to-database /etc/magnum/magnum.conf --dry-run
  slipway magnum hand-back --to-database /etc/magnum/magnum.conf
  slipway magnum hand-back --to-database /etc/magnum/magnum.conf --canary shop-test`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to-database", "", "Magnum's running database: URL without a password, magnum.conf, or a file with a URL (required)")
	flags.StringVar(&o.site.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&o.choices.Certificates, "certificates", "", "Magnum's certificate store: x509keypair, barbican or local (default: as magnum.conf says); only x509keypair can be written")
	flags.StringToStringVar(&o.site.labels, "magnum-label", nil, "the same as for slipway serve controllers: default of a label that neither the cluster nor its template sets")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing")
	flags.BoolVar(&o.skipRefused, "skip-refused", false, "leave with Slipway what is refused, and hand back the rest")
	flags.BoolVar(&o.choices.MayRoll, "may-roll", false, "also hand back clusters whose machines Magnum's driver will replace with its first change: those that Slipway made or upgraded")
	flags.StringSliceVar(&o.choices.Overwrite, "overwrite", nil, "name or UUID of a cluster or template, or project of a quota, whose rows are written over although somebody changed them in Magnum")
	flags.StringVar(&o.choices.Only, "canary", "", "name or UUID of one cluster: hand it back alone")
	ui.FormatFlag(flags, &o.site.format)
	ui.ProgressFlag(flags, &o.site.progress)
	return cmd
}

// open finds the database and the management cluster.
func (o *backOptions) open() (*database.Writer, moving.Site, error) {
	if o.to == "" {
		return nil, moving.Site{}, fault.Usage("--to-database", errors.New("it is required"), "name magnum.conf, or a file with the URL of Magnum's database")
	}
	source, err := database.FindTarget(o.to)
	if err != nil {
		return nil, moving.Site{}, err
	}
	if prefix := source.Settings.NamespacePrefix; prefix != "" && prefix != "magnum" {
		return nil, moving.Site{}, fault.New(o.to, errors.New("[capi_helm] namespace_prefix is "+prefix+", and Slipway's namespaces begin with magnum-"), "name the magnum.conf that was imported from")
	}
	if store := o.choices.Certificates; !slices.Contains([]string{"", moving.InDatabase, "barbican", "local"}, store) {
		return nil, moving.Site{}, fault.Usage("--certificates", fmt.Errorf("%q is no certificate store", store), "use x509keypair, barbican or local")
	}
	if o.choices.Certificates == "" {
		o.choices.Certificates = source.Settings.CertificateStore
	}
	site, err := o.site.management()
	if err != nil {
		return nil, site, err
	}
	rows, err := source.Open()
	return rows, site, err
}

func (o *backOptions) run(ctx context.Context, streams ui.Streams) error {
	rows, site, err := o.open()
	if err != nil {
		return err
	}
	defer rows.Close()
	plan, err := moving.NewHandBack(ctx, rows, site, o.choices)
	if err != nil {
		return err
	}
	if o.choices.Only != "" {
		if err := chosenBack(plan, o.choices.Only); err != nil {
			return err
		}
	}
	for _, ident := range o.choices.Overwrite {
		if !slices.ContainsFunc(plan.Items, func(i *moving.Returned) bool { return ident == i.Name || strings.EqualFold(ident, i.ID()) }) {
			return fault.Usage("--overwrite", errors.New("nothing has the name or UUID "+ident), "see slipway magnum hand-back --dry-run")
		}
	}
	refused := faults(plan.Refused())
	if o.dryRun || refused != nil && !o.skipRefused {
		last := "Nothing was written: this is a dry run."
		if refused != nil && !o.skipRefused {
			last = "Nothing was written: correct what is refused, or leave it with Slipway with --skip-refused."
		}
		if err := o.show(streams, plan, last); err != nil || refused == nil {
			return err
		}
		return &fault.Fault{Exit: fault.ExitPreflight, Err: refused}
	}
	if err := o.write(ctx, streams, plan, rows, site); err != nil {
		return err
	}
	if refused != nil {
		return &fault.Fault{Exit: fault.ExitPartial, Err: refused}
	}
	return nil
}

func (o *backOptions) write(ctx context.Context, streams ui.Streams, plan *moving.HandBack, rows moving.Rows, site moving.Site) error {
	progress, err := ui.NewProgress(o.site.progress, streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	if plan.Pending() == 0 {
		return o.show(streams, plan, "Magnum has everything back already: nothing was written.")
	}
	step, written := event.Start(progress, "hand-back", "handing back to Magnum"), 0
	err = plan.Run(ctx, rows, site, func(what string, wrote bool) {
		if wrote {
			written++
		}
		step.Run(what)
	})
	step.End("handed back", err)
	if err != nil {
		return &fault.Fault{Exit: fault.ExitPartial, Err: err, Remedy: "correct the cause and run the command again: it continues with what is not handed back yet"}
	}
	return o.show(streams, plan, fmt.Sprintf("%d transactions written. Now start magnum-conductor and magnum-api, and let the catalog's endpoint container-infra lead to Magnum.", written))
}

// chosenBack refuses a name that is nobody's, or several clusters'.
func chosenBack(plan *moving.HandBack, ident string) error {
	var ids []string
	for _, i := range plan.Items {
		if i.Kind == moving.KindCluster {
			ids = append(ids, i.UUID)
		}
	}
	switch len(ids) {
	case 0:
		return fault.Usage("--canary", errors.New("there is no cluster "+ident), "see slipway magnum hand-back --dry-run")
	case 1:
		return nil
	}
	return fault.Usage("--canary", errors.New("several clusters have the name "+ident+": "+strings.Join(ids, ", ")), "name one by its UUID")
}

// show prints the plan.
func (o *backOptions) show(streams ui.Streams, plan *moving.HandBack, last string) error {
	t := ui.Table{Header: []string{"KIND", "NAME", "CLUSTER", "UUID", "VERDICT", "CHANGES"}}
	counts := map[moving.Verdict]int{}
	for _, i := range plan.Items {
		counts[i.Verdict]++
		var columns []string
		for _, c := range i.Changes {
			columns = append(columns, c.Column)
		}
		t.Rows = append(t.Rows, []string{i.Kind, i.Name, i.Cluster, i.ID(), string(i.Verdict), strings.Join(columns, ",")})
		for _, note := range i.Notes {
			what := i.Kind + " " + i.Name
			if i.Kind == moving.KindCertificate || i.Kind == moving.KindCredential {
				what = "cluster " + i.Cluster
			}
			t.Footer = append(t.Footer, what+": "+note)
		}
	}
	t.Footer = append(t.Footer, fmt.Sprintf("Magnum %s: %d unchanged, %d to write, %d to create, %d to delete, %d Magnum's, %d refused", plan.Magnum, counts[moving.Unchanged],
		counts[moving.Write], counts[moving.Create], counts[moving.Delete], counts[moving.Magnums], counts[moving.Refuse]), last)
	return ui.Output(streams.Out, o.site.format, plan, t)
}
