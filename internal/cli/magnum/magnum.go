// Package magnum is `slipway magnum`: moving in from OpenStack's Magnum, and back.
package magnum

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/moving/rest"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "magnum",
		Short: "Move in from OpenStack's Magnum, and back",
		Long: `Moves clusters, node groups, templates and quotas from the database or the API of OpenStack's
Magnum to Slipway's Magnum-compatible API. Clusters of magnum-capi-helm keep their
machines, names, releases and Secrets, also on the way back. See docs/guides/migrating.md.`,
	}
	cmd.AddCommand(newPlan(streams), newImport(streams), newHandBack(streams))
	return cmd
}

// options are the flags that the commands share.
type options struct {
	from, api, kubeconfig, cloud, certificates string
	labels                                     map[string]string
	format, progress                           string
	canary                                     string
	adopt                                      bool
}

func (o *options) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.from, "from-database", "", "Magnum's database: URL without a password, magnum.conf, a file with a URL, or a plain dump")
	flags.StringVar(&o.api, "from-api", "", "read Magnum's API instead, as the administrator of --cloud: the endpoint in the catalog, or --from-api=URL")
	flags.Lookup("from-api").NoOptDefVal = inCatalog
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster that Magnum's clusters are on (default: KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&o.cloud, "cloud", "", "entry of clouds.yaml of an administrator, to check projects, and to read Barbican or Magnum's API; without one none is asked")
	flags.StringVar(&o.certificates, "certificates", "", "Magnum's certificate store, for clusters of Heat: x509keypair, barbican, or a folder (default: as magnum.conf says, else x509keypair)")
	flags.StringToStringVar(&o.labels, "magnum-label", nil, "the same as for slipway serve controllers: default of a label that neither the cluster nor its template sets")
	ui.FormatFlag(flags, &o.format)
}

func newPlan(streams ui.Streams) *cobra.Command {
	o := &options{format: "table", progress: "auto"}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what an import would take, and what keeps it from it",
		Long: `Reads Magnum's database, or its API, and the management cluster and changes neither. For every
cluster it says what becomes of it, how many machines would be made or deleted (0, or the
cluster is refused), and with -o json which values of its release the next upgrade
would change. The exit code is 4 if something is refused.`,
		Example: `  slipway magnum plan --from-database /etc/magnum/magnum.conf --cloud admin
  slipway magnum plan --from-database magnum.sql -o json
  slipway magnum plan --from-api --cloud admin`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.plan(cmd.Context(), streams) },
	}
	o.add(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("from-database", "from-api")
	return cmd
}

func newImport(streams ui.Streams) *cobra.Command {
	o := &options{format: "table", progress: "auto"}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Copy what Magnum has, and adopt it on request",
		Long: `Copies templates, quotas and clusters with their node groups. Copies can only be read
through the API, and Magnum still manages the clusters: run it again whenever you like,
it brings the copies in line with the database. With --adopt, Slipway manages from
then on all that it can: stop Magnum first. --canary adopts one cluster.

What is refused is left out and does not keep the rest from being copied; the exit code
is then 4.`,
		Example: `  slipway magnum import --from-database /etc/magnum/magnum.conf --cloud admin
  slipway magnum import --from-database magnum.sql --canary shop-test
  slipway magnum import --from-database /etc/magnum/magnum.conf --adopt
  slipway magnum import --from-api=https://magnum.cloud.example/v1 --cloud admin`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.add(cmd.Flags())
	cmd.Flags().StringVar(&o.canary, "canary", "", "name or UUID of one cluster: copy and adopt it alone")
	cmd.Flags().BoolVar(&o.adopt, "adopt", false, "have Slipway's controllers manage everything that they can")
	cmd.MarkFlagsMutuallyExclusive("from-database", "from-api")
	cmd.MarkFlagsMutuallyExclusive("canary", "adopt")
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

// inCatalog is --from-api without a URL.
const inCatalog = "catalog"

// read reads what Magnum has and judges it.
func (o *options) read(ctx context.Context) (*moving.Plan, moving.Site, func(), error) {
	none := func() {}
	source, err := o.source()
	if err != nil {
		return nil, moving.Site{}, none, err
	}
	site, admin, err := o.site(ctx, source.Settings)
	leave := none
	if admin != nil {
		leave = admin.Close
	}
	if err != nil {
		return nil, site, leave, err
	}
	var db *database.Database
	if o.api != "" {
		db, err = o.asked(ctx, admin)
	} else {
		db, err = source.Read(ctx)
	}
	if err != nil {
		return nil, site, leave, err
	}
	plan, err := moving.New(ctx, db, site)
	return plan, site, leave, err
}

// source is the database that is named. It has no settings if the API is read.
func (o *options) source() (*database.Source, error) {
	switch {
	case o.api != "" && o.cloud == "":
		return nil, fault.Usage("--cloud", errors.New("it is required to read Magnum's API"), "name an administrator's entry of clouds.yaml")
	case o.api != "" && o.certificates != "":
		return nil, fault.Usage("--certificates", errors.New("Magnum's API does not say which certificate is whose"), "leave it out, or read the database: --from-database")
	case o.api != "":
		return &database.Source{}, nil
	case o.from == "":
		return nil, fault.Usage("--from-database", errors.New("it is required, or --from-api"), "name Magnum's database, magnum.conf or a dump")
	}
	source, err := database.Find(o.from)
	if err != nil {
		return nil, err
	}
	if prefix := source.Settings.NamespacePrefix; prefix != "" && prefix != "magnum" {
		return nil, fault.New(o.from, errors.New("[capi_helm] namespace_prefix is "+prefix+", and Slipway's namespaces begin with magnum-"),
			"clusters in other namespaces cannot be adopted")
	}
	return source, nil
}

// asked reads Magnum's API.
func (o *options) asked(ctx context.Context, admin *cloud.Cloud) (*database.Database, error) {
	endpoint := o.api
	if endpoint == inCatalog {
		found, err := admin.ContainerInfra()
		if err != nil {
			return nil, err
		}
		endpoint = found.Endpoint
	}
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return nil, fault.Usage("--from-api", fmt.Errorf("%q is no URL of an endpoint", endpoint), "write it as https://magnum.cloud.example/v1")
	}
	client, err := admin.Beside(cloud.ContainerInfra, endpoint, nil)
	if err != nil {
		return nil, err
	}
	db, err := rest.Read(ctx, client)
	return db, admin.Fault("Magnum's API", err)
}

func (o *options) plan(ctx context.Context, streams ui.Streams) error {
	plan, _, leave, err := o.read(ctx)
	defer leave()
	if err != nil {
		return err
	}
	return o.show(streams, plan, "")
}

// run imports, and adopts what was asked for.
func (o *options) run(ctx context.Context, streams ui.Streams) error {
	plan, site, leave, err := o.read(ctx)
	defer leave()
	if err != nil {
		return err
	}
	var canary *moving.Cluster
	if o.canary != "" {
		if canary, err = chosen(plan, o.canary); err != nil {
			return err
		}
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	written := 0
	work := func(name, message, end string, do func(func(string, bool)) error) error {
		step := event.Start(progress, name, message)
		err := do(func(what string, changed bool) {
			if changed {
				written++
				step.Run(what)
			}
		})
		step.End(end, err)
		return err
	}
	switch {
	case canary != nil:
		err = work("canary", "adopting cluster "+canary.Name, "adopted", func(done func(string, bool)) error {
			if err := plan.ImportOne(ctx, site, canary, done); err != nil {
				return err
			}
			return plan.AdoptOne(ctx, site, canary, done)
		})
	default:
		err = work("import", "copying what Magnum has", "copied", func(done func(string, bool)) error { return plan.Import(ctx, site, done) })
		if o.adopt && ctx.Err() == nil { // one that cannot be copied does not keep the others with Magnum, which is stopped
			err = errors.Join(err, work("adopt", "giving clusters to Slipway's controllers", "adopted", func(done func(string, bool)) error { return plan.Adopt(ctx, site, done) }))
		}
	}
	if err != nil {
		return &fault.Fault{Exit: fault.ExitPartial, Err: err, Remedy: "correct the cause and run the command again: what is copied is not copied twice, and copies change nothing"}
	}
	if canary != nil {
		plan.Templates, plan.Quotas, plan.Clusters = []moving.Item{}, []moving.Item{}, []moving.Cluster{*canary}
		plan.Gone, plan.GoneTemplates, plan.GoneQuotas = nil, nil, nil
	}
	return o.show(streams, plan, o.next(written))
}

// chosen is the one cluster that was named.
func chosen(plan *moving.Plan, ident string) (*moving.Cluster, error) {
	found := plan.Find(ident)
	switch {
	case len(found) == 0:
		return nil, fault.Usage("--canary", errors.New("there is no cluster "+ident+" in the database"), "see slipway magnum plan")
	case len(found) > 1:
		var ids []string
		for _, c := range found {
			ids = append(ids, c.UUID)
		}
		return nil, fault.Usage("--canary", errors.New("several clusters have the name "+ident+": "+strings.Join(ids, ", ")), "name one by its UUID")
	}
	switch c := found[0]; {
	case c.Verdict == moving.Adopt || c.Unsettled():
		return c, nil
	case c.Verdict == moving.Ours:
		return nil, fault.New("cluster "+ident, errors.New("it has been adopted before"), "choose another, or leave --canary out")
	case c.Verdict == moving.Show:
		return nil, fault.New("cluster "+ident, errors.New("Slipway can only show it"), strings.Join(c.Notes, "; "))
	default:
		var all []error
		for _, p := range c.Problems {
			all = append(all, fault.New("cluster "+ident, errors.New(p.What), p.Remedy))
		}
		return nil, errors.Join(all...)
	}
}
