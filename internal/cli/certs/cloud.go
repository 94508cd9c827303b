package certs

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/cert"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/expiry"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
)

type cloudOptions struct {
	from   environment.Flags
	ca     string
	format string
}

func newCloud(streams ui.Streams) *cobra.Command {
	o := cloudOptions{format: "table"}
	cmd := &cobra.Command{
		Use:   "cloud",
		Short: "Show which clusters trust the CA certificates of the cloud, and which do not yet",
		Long: `Run it before and after your cloud changes the CA of its certificates. For the management
cluster and each workload cluster, it compares the CA certificates in the cluster's Secret
with those that you want, and logs in to the cloud with the credential and the certificates
of that cluster. Clusters of the Magnum API also say whether their cloud controller and CSI
driver have been restarted.

The certificates are those of spec.caBundle, or of the file in --ca. The exit code is 1 if a
cluster lacks one of them or does not use it, or if the cloud does not accept its login.`,
		Example: `  slipway certs cloud
  slipway certs cloud --ca new-ca.pem
  slipway certs cloud -o json | jq -r '.clusters[] | select(.missing) | .cluster'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().StringVar(&o.ca, "ca", "", "PEM file of the certificates that all clusters are to trust (default: spec.caBundle)")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o cloudOptions) run(ctx context.Context, streams ui.Streams) error {
	ctx, cancel := context.WithTimeoutCause(ctx, expiry.Patience, fmt.Errorf("no answer within %s", expiry.Patience))
	defer cancel()
	w, err := witness.Open(ctx, o.from)
	if err != nil {
		return err
	}
	defer w.Close()
	wanted, err := o.wanted(w.Loaded.TrustBundle)
	if err != nil {
		return err
	}
	listing := listTrust(ctx, wanted, map[string]func() (*kube.Cluster, error){"seed": w.OnSeed, "management cluster": w.Management})
	if err := ui.Output(streams.Out, o.format, listing, trustTable(listing)); err != nil {
		return err
	}
	return trustVerdict(listing)
}

// wanted are the certificates that clusters are to trust.
func (o cloudOptions) wanted(bundle []byte) ([]*x509.Certificate, error) {
	if o.ca == "" && len(bundle) == 0 {
		return nil, fault.Usage("--ca", errors.New("the environment has no spec.caBundle"), "name the file with the CA certificates of the cloud")
	}
	if o.ca != "" {
		var err error
		if bundle, err = os.ReadFile(o.ca); err != nil {
			return nil, fault.Usage("--ca", err, "give a readable file")
		}
	}
	list, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil, fault.Usage("--ca "+o.ca, err, "give a PEM file of certificates")
	}
	return list, nil
}

// listTrust asks all places with objects of clusters at the same time.
func listTrust(ctx context.Context, wanted []*x509.Certificate, places map[string]func() (*kube.Cluster, error)) (all certs.TrustListing) {
	var mu sync.Mutex
	var group sync.WaitGroup
	for what, open := range places {
		group.Go(func() {
			on, err := open()
			var found certs.TrustListing
			if err == nil && on != nil {
				found, err = certs.CloudTrust(ctx, on, wanted)
			}
			mu.Lock()
			defer mu.Unlock()
			all.Add(found)
			if err != nil {
				all.Miss(what, err)
			}
		})
	}
	group.Wait()
	all.Sort()
	return all
}

func trustTable(l certs.TrustListing) ui.Table {
	t := ui.Table{Header: []string{"CLUSTER", "SECRET", "ALSO TRUSTS", "RESULT"}}
	for _, c := range l.Clusters {
		others := "-"
		if len(c.Others) > 0 {
			others = c.Others[0]
		}
		if more := len(c.Others) - 1; more > 0 {
			others += fmt.Sprintf(" and %d more", more)
		}
		t.Rows = append(t.Rows, []string{c.Namespace + "/" + c.Cluster, c.Secret, others, c.Says()})
	}
	for _, u := range l.Unseen {
		t.Footer = append(t.Footer, "not looked at: "+u.What+": "+u.Why)
	}
	return t
}

// trustVerdict is the error for clusters that would lose the cloud, and for what nobody has seen.
func trustVerdict(l certs.TrustListing) error {
	if late := l.Straggling(); len(late) > 0 {
		return fault.New("clusters", fmt.Errorf("%d of %d are not ready for these CA certificates, the first: %s/%s %s", len(late), len(l.Clusters), late[0].Namespace, late[0].Cluster, late[0].Says()),
			"keep the old certificate in the cloud until all are; see what to do about each in docs/operations/certificates.md")
	}
	if len(l.Unseen) > 0 {
		return fault.New("clusters", fmt.Errorf("%d places could not be looked at, the first: %s: %s", len(l.Unseen), l.Unseen[0].What, l.Unseen[0].Why),
			"find the cause with slipway why, then run slipway certs cloud again")
	}
	return nil
}
