// Package certs is `slipway certs`.
package certs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/expiry"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
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
	cmd.Flags().IntVar(&o.within, "within", expiry.SoonDays, "fail if a certificate ends within this many days")
	ui.FormatFlag(cmd.Flags(), &o.format)
	cmd.AddCommand(newRenew(streams), newCloud(streams))
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
	ctx, cancel := context.WithTimeoutCause(ctx, expiry.Patience, fmt.Errorf("no answer within %s", expiry.Patience))
	defer cancel()
	w, err := witness.Open(ctx, o.from)
	if err != nil {
		return err
	}
	defer w.Close()
	listing, err := expiry.List(ctx, w)
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
		return fault.New("certificates", fmt.Errorf("%d of them end within %d days, the first %s: %s of %s", len(due), within, expiry.Left(soonest.Ends, now), soonest.Object, expiry.Cluster(soonest)),
			"renew those of a control plane or of k3s with slipway certs renew CLUSTER; see what to do about others in docs/operations/certificates.md")
	}
	if len(listing.Unseen) > 0 {
		return fault.New("certificates", fmt.Errorf("%d could not be looked at, the first: %s: %s", len(listing.Unseen), listing.Unseen[0].What, listing.Unseen[0].Why),
			"find the cause with slipway why, then run slipway certs again")
	}
	return nil
}

func table(l certs.Listing, now time.Time) ui.Table {
	t := ui.Table{Header: []string{"CLUSTER", "CERTIFICATE", "WHERE", "ENDS", "LEFT", "RENEWED BY"}}
	for _, c := range expiry.Folded(l.Certificates) {
		t.Rows = append(t.Rows, []string{expiry.Cluster(c), c.Use, c.Object, c.Ends.Format(time.DateOnly), expiry.Left(c.Ends, now), expiry.Renewal(c)})
	}
	for _, u := range l.Unseen {
		t.Footer = append(t.Footer, "not looked at: "+u.What+": "+u.Why)
	}
	return t
}
