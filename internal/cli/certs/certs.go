// Package certs is `slipway certs`.
package certs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
)

const (
	// warnDays are fewer than those before the end at which certificates are renewed: what
	// is left then has not been renewed.
	warnDays = 21
	patience = 2 * time.Minute
)

type options struct {
	from   environment.Flags
	within int
	format string
}

// New returns the command with its sub-command.
func New(streams ui.Streams) *cobra.Command {
	o := options{format: "table"}
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "Show when certificates end and what renews them, and renew those of a control plane",
		Long: `Lists the certificates of the seed, of the management cluster and of all workload
clusters: when each ends, what renews it, and when. It reads them where they are: on the
Machines and in the Secrets of Cluster API and cert-manager, in the files of k3s on the
seed, in the kubeconfigs of the state, and in the TLS handshake of each API server.

The exit code is 1 if a certificate ends within the days of --within, or if something could
not be looked at.`,
		Example: `  slipway certs
  slipway certs --within 45
  slipway certs -o json | jq -r '.certificates[] | select(.renewedBy == "nobody") | .object'
  slipway certs renew shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().IntVar(&o.within, "within", warnDays, "fail if a certificate ends within this many days")
	ui.FormatFlag(cmd.Flags(), &o.format)
	cmd.AddCommand(newRenew(streams))
	return cmd
}

// output is what the command prints as data.
type output struct {
	certs.Listing
	// Within is the number of days of --within, Ending how many certificates end in them.
	Within int `json:"within"`
	Ending int `json:"ending"`
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	if o.within < 0 {
		return fault.Usage("--within", fmt.Errorf("%d is no number of days", o.within), "give 0 or more")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	w, err := witness.Open(ctx, o.from)
	if err != nil {
		return err
	}
	defer w.Close()
	listing, err := list(ctx, w)
	if err != nil {
		return err
	}
	now := time.Now()
	due := listing.EndingBy(now.AddDate(0, 0, o.within))
	if err := ui.Output(streams.Out, o.format, output{listing, o.within, len(due)}, table(listing, now)); err != nil {
		return err
	}
	return verdict(listing, due, o.within, now)
}

// verdict is the error for certificates that end, and for what nobody has seen.
func verdict(listing certs.Listing, due []certs.Certificate, within int, now time.Time) error {
	if len(due) > 0 {
		soonest := slices.MinFunc(due, func(a, b certs.Certificate) int { return a.Ends.Compare(b.Ends) })
		return fault.New("certificates", fmt.Errorf("%d of them end within %d days, the first %s: %s of %s", len(due), within, left(soonest.Ends, now), soonest.Object, cluster(soonest)),
			"renew those of a control plane or of k3s with slipway certs renew CLUSTER; see what to do about others in docs/operations/certificates.md")
	}
	if len(listing.Unseen) > 0 {
		return fault.New("certificates", fmt.Errorf("%d could not be looked at, the first: %s: %s", len(listing.Unseen), listing.Unseen[0].What, listing.Unseen[0].Why),
			"find the cause with slipway why, then run slipway certs again")
	}
	return nil
}

// list asks all at the same time.
func list(ctx context.Context, w *witness.Witness) (certs.Listing, error) {
	seed, err := w.Seed()
	if err != nil {
		return certs.Listing{}, err
	}
	name := w.Loaded.Environment.Metadata.Name
	var all certs.Listing
	if seed.Kubeconfig != "" {
		all.Add(certs.InState("", certs.SeedName, seed.Kubeconfig))
	}
	if seed.Management != "" {
		all.Add(certs.InState(stacks.ManagementNamespace, name, seed.Management))
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	look := func(what string, find func() (certs.Listing, error)) {
		group.Go(func() {
			found, err := find()
			mu.Lock()
			defer mu.Unlock()
			all.Add(found)
			if err != nil {
				all.Unseen = append(all.Unseen, certs.Unseen{What: what, Why: err.Error()})
			}
		})
	}
	if seed.Kubeconfig != "" {
		look("k3s on the seed", func() (certs.Listing, error) {
			machine, err := w.Machine()
			if err != nil {
				return certs.Listing{}, err
			}
			return certs.Seed(ctx, machine)
		})
		look("Kubernetes on the seed", func() (certs.Listing, error) { return onPlace(ctx, w, w.OnSeed, "", certs.SeedName) })
	}
	look("management cluster", func() (certs.Listing, error) {
		return onPlace(ctx, w, w.Management, stacks.ManagementNamespace, name)
	})
	group.Wait()
	all.Sort()
	return all, nil
}

// onPlace lists what serves TLS on a Kubernetes, and the clusters whose objects it has.
func onPlace(ctx context.Context, w *witness.Witness, open func() (*kube.Cluster, error), namespace, name string) (certs.Listing, error) {
	on, err := open()
	if err != nil || on == nil {
		return certs.Listing{}, err
	}
	all, err := certs.Serving(ctx, on, namespace, name)
	if err != nil {
		return all, err
	}
	machine, err := w.Machine()
	if err != nil {
		machine = nil // clusters are reached directly then
	}
	clusters, err := certs.Clusters(ctx, on, target.Way(on, machine))
	all.Add(clusters)
	return all, err
}

func table(l certs.Listing, now time.Time) ui.Table {
	t := ui.Table{Header: []string{"CLUSTER", "CERTIFICATE", "WHERE", "ENDS", "LEFT", "RENEWED BY"}}
	for _, c := range folded(l.Certificates) {
		t.Rows = append(t.Rows, []string{cluster(c), c.Use, c.Object, c.Ends.Format(time.DateOnly), left(c.Ends, now), renewal(c)})
	}
	for _, u := range l.Unseen {
		t.Footer = append(t.Footer, "not looked at: "+u.What+": "+u.Why)
	}
	return t
}

// folded has one line for the many files of k3s: the one that ends first.
func folded(all []certs.Certificate) []certs.Certificate {
	var rows []certs.Certificate
	files := map[string]int{}
	for _, c := range all { // in the order of their ends
		if c.Cluster != certs.SeedName || !strings.HasPrefix(c.Object, "file ") {
			rows = append(rows, c)
			continue
		}
		if files[c.Use]++; files[c.Use] == 1 {
			rows = append(rows, c)
		}
	}
	for i, c := range rows {
		if n := files[c.Use]; n > 1 && c.Cluster == certs.SeedName && strings.HasPrefix(c.Object, "file ") {
			rows[i].Object = fmt.Sprintf("%d files, the first: %s", n, c.Object[strings.LastIndex(c.Object, "/")+1:])
		}
	}
	return rows
}

func cluster(c certs.Certificate) string {
	if c.Namespace == "" || c.Namespace == c.Cluster || c.Namespace == stacks.ManagementNamespace {
		return c.Cluster
	}
	return c.Namespace + "/" + c.Cluster
}

func left(ends, now time.Time) string {
	if ends.Before(now) {
		return "ended " + duration.HumanDuration(now.Sub(ends)) + " ago"
	}
	return duration.HumanDuration(ends.Sub(now))
}

func renewal(c certs.Certificate) string {
	word := map[string]string{certs.ByRollout: "a new machine", certs.ByClusterAPI: "Cluster API", certs.ByCertManager: "cert-manager", certs.ByK3s: "k3s when it starts",
		certs.ByUp: "slipway up", certs.ByNobody: "nobody"}[c.RenewedBy]
	if !c.RenewsAt.IsZero() {
		word += ", from " + c.RenewsAt.Format(time.DateOnly)
	}
	return word
}
