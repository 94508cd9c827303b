package tacker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/addons/tacker/receiver"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// headerTime bounds how long a client may take to send headers, callTime a whole call
// with what Tacker takes.
const (
	headerTime = 10 * time.Second
	callTime   = 2 * time.Minute
)

// receiverOptions are the flags of `slipway tacker receiver`.
type receiverOptions struct {
	at            listen.Options
	cloud, region string
	token         string
	helm          bool
}

func newReceiver(streams ui.Streams) *cobra.Command {
	o := receiverOptions{}
	cmd := &cobra.Command{
		Use:   "receiver",
		Short: "Register workload clusters as VIMs when their packages send credentials",
		Long: `Serves the URL to which packages send the credential of a workload cluster, and
registers the cluster as a VIM of the Tacker in Keystone's catalog. A cluster is
registered once, however often it is sent; when it is terminated, the VIM is deleted.

It serves HTTPS only, and takes messages only with the token of --token-file.`,
		Example: "  slipway tacker receiver --os-cloud nfv --token-file token --tls-cert tls.crt --tls-key tls.key",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), streams) },
	}
	flags := cmd.Flags()
	o.at.Flags(flags, ":8443", "receiver")
	flags.StringVar(&o.cloud, "os-cloud", "", "entry of clouds.yaml of the user who registers VIMs (default: OS_CLOUD, or the only entry)")
	flags.StringVar(&o.region, "region", "", "region of Tacker (default: the entry's)")
	flags.StringVar(&o.token, "token-file", "", "file with the token that packages send, at least 16 characters")
	flags.BoolVar(&o.helm, "helm", true, "let Tacker install Helm charts on the clusters")
	return cmd
}

// check returns all mistakes in the flags, and the token.
func (o *receiverOptions) check() (string, error) {
	wrong := []error{o.at.Check()}
	if o.at.Certificate == "" {
		wrong = append(wrong, fault.Usage("--tls-cert and --tls-key", errors.New("they are missing: credentials must not travel in plain text"), "give a certificate that the machines of Tacker trust"))
	}
	text, err := read("--token-file", o.token)
	return strings.TrimSpace(string(text)), errors.Join(append(wrong, err)...)
}

func (o *receiverOptions) serve(ctx context.Context, streams ui.Streams) error {
	token, err := o.check()
	if err != nil {
		return err
	}
	opened, err := cloud.Open(ctx, cloud.Options{Cloud: o.cloud, Region: o.region, Env: environment.System(), UserAgent: environment.UserAgent() + " (tacker)"})
	if err != nil {
		return err
	}
	defer opened.Close()
	registry, err := receiver.NewTacker(opened.Provider, opened.Endpoint, o.helm)
	if err != nil {
		return fault.New("Tacker", err, "check region and interface in clouds.yaml, or register the service nfv-orchestration in Keystone")
	}
	log := slog.New(slog.NewJSONHandler(streams.Err, nil))
	handler, err := receiver.New(registry, token, log)
	if err != nil {
		return fault.Usage("--token-file", err, "write a random one: openssl rand -hex 32")
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: callTime, WriteTimeout: callTime, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	return o.at.Serve(ctx, server, listen.Hooks{
		Serving: func(address net.Addr) { log.Info("receiving credentials", "address", address.String()) },
		Ending:  func() { log.Info("ending") },
	})
}
