// Package etcd is `slipway etcd`.
package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/etcd"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "etcd",
		Short: "Maintain the etcd of a control plane, on one of its nodes",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newDefrag(streams), newSnapshot(streams))
	return cmd
}

// kubeadm's files on a node of a control plane.
const (
	authority   = "/etc/kubernetes/pki/etcd/ca.crt"
	certificate = "/etc/kubernetes/pki/etcd/healthcheck-client.crt"
	key         = "/etc/kubernetes/pki/etcd/healthcheck-client.key"
)

type options struct {
	endpoint, ca, cert, key, format string
	timeout                         time.Duration
}

func newDefrag(streams ui.Streams) *cobra.Command {
	o := options{format: "table"}
	cmd := &cobra.Command{
		Use:   "defrag",
		Short: "Defragment all members of an etcd cluster, the leader last",
		Long: `Defragments all members of an etcd cluster, one after the other, to free the space of
deleted keys. It starts only if all members are healthy and follow the same leader, and
waits for that again before each member. Before its own turn the leader transfers the
leadership to a member that is done. At the end it clears the alarm by which an etcd that
was full takes no writes.

A member does not answer while it is defragmented. The openstack-cluster chart runs this
every night on a control plane (addons.etcdDefrag).`,
		Example: `  slipway etcd defrag
  slipway etcd defrag --endpoint https://10.0.0.5:2379 --cacert ca.crt --cert client.crt --key client.key -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.add(cmd)
	cmd.Flags().DurationVar(&o.timeout, "member-timeout", 5*time.Minute, "how long to wait for one member")
	return cmd
}

// add adds the flags that name a member and how to log in.
func (o *options) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.endpoint, "endpoint", "https://127.0.0.1:2379", "client URL of one member; it names the others")
	flags.StringVar(&o.ca, "cacert", authority, "file with the CA of the members' certificates")
	flags.StringVar(&o.cert, "cert", certificate, "file with the client certificate")
	flags.StringVar(&o.key, "key", key, "file with the key of the client certificate")
	ui.FormatFlag(flags, &o.format)
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	config, err := o.tls()
	if err != nil {
		return err
	}
	client, err := etcd.Dial(o.endpoint, config, o.timeout)
	if err != nil {
		return err
	}
	defer client.Close()
	results, err := etcd.Defragment(ctx, client, etcd.Options{})
	if err != nil && len(results) == 0 {
		return err
	}
	return errors.Join(ui.Output(streams.Out, o.format, results, table(results)), err)
}

// tls is nil for an endpoint without it.
func (o options) tls() (*tls.Config, error) {
	if !strings.HasPrefix(o.endpoint, "https://") {
		return nil, nil
	}
	const remedy = "run it as root on a control plane node, or name the files"
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, fault.Usage("--cert, --key", err, remedy)
	}
	text, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, fault.Usage("--cacert", err, remedy)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fault.Usage("--cacert "+o.ca, errors.New("it contains no certificate"), remedy)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func table(results []etcd.Result) ui.Table {
	t := ui.Table{Header: []string{"MEMBER", "ENDPOINT", "LEADER", "BEFORE", "AFTER"}}
	for _, r := range results {
		t.Rows = append(t.Rows, []string{r.Name, r.Endpoint, map[bool]string{true: "yes"}[r.Leader], mib(r.Before), mib(r.After)})
	}
	return t
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
