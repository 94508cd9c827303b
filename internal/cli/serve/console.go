package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/console/guard"
	"github.com/slipway-sh/slipway/internal/console/tenant"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// consoleOptions are the flags of `slipway serve console`.
type consoleOptions struct {
	at                                  listen.Options
	drain, cloudTime                    time.Duration
	logLevel, logFormat, caBundle       string
	keystone, magnum, public, endpoints string
	region, domain                      string
	sessionKey, entrance                string
	ways                                []string
}

func newConsole(streams ui.Streams) *cobra.Command {
	o := &consoleOptions{}
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve the console for tenants",
		Long: `Serves pages on which tenants create, watch and change their clusters in a browser.

Tenants sign in at Keystone by password, by application credential, or at an identity
provider, and may do what their token may do. The console has no user and no rights of its
own, reads no kubeconfig and stores nothing: it changes clusters by the Magnum API, with
the token of who asks.

A session is in its cookie, sealed with a key, and ends with its token. Give all replicas
the same --session-key: each then accepts the sessions of the others, and those from before
a restart. Without it, a restart ends all sessions.

Serve HTTPS, or put a proxy before it that does, and name its address with
--public-endpoint. "slipway console serve" is the console for operators.`,
		Example: `  slipway serve console --keystone https://cloud.example:5000 --tls-cert tls.crt --tls-key tls.key
  slipway serve console --keystone https://cloud.example:5000 --public-endpoint https://clusters.example --listen 127.0.0.1:8470
  slipway serve console --keystone https://cloud.example:5000 --public-endpoint https://clusters.example --tls-cert tls.crt --tls-key tls.key --websso 'Company login=openid'
  slipway serve console --keystone http://127.0.0.1:5000 --magnum http://127.0.0.1:9511 --listen 127.0.0.1:8470`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), streams) },
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *consoleOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.keystone, "keystone", "", "Keystone's URL, with or without /v3; it is required")
	f.StringVar(&o.magnum, "magnum", "", "URL of the Magnum API (default: that of the token's catalog)")
	f.StringVar(&o.region, "region", "", "region of the catalog's endpoints (default: the first that fits)")
	f.StringVar(&o.endpoints, "interface", "public", "interface of the catalog's endpoints: public, internal or admin")
	f.StringVar(&o.caBundle, "cloud-ca", "", "PEM file of additional CA certificates of the cloud")
	f.DurationVar(&o.cloudTime, "cloud-timeout", 30*time.Second, "maximum duration of a request to the cloud")
	f.StringVar(&o.domain, "domain", "Default", "domain that the page of signing in proposes")
	f.StringVar(&o.public, "public-endpoint", "", "URL of the console for browsers, such as https://clusters.example; requests under other names are refused (default: the address of each request)")
	f.StringVar(&o.sessionKey, "session-key", "", "file with a secret of at least 32 bytes that seals the cookies of sessions, the same for all replicas; read again when it changes (default: a secret of this process)")
	f.StringArrayVar(&o.ways, "websso", nil, "sign-in at an identity provider, as NAME=PROTOCOL or NAME=PROVIDER/PROTOCOL of Keystone; Keystone's trusted_dashboard must have the console's URL with "+tenant.ArrivalPath+" (repeatable)")
	f.StringVar(&o.entrance, "websso-keystone", "", "Keystone's URL for browsers (default: that of --keystone)")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error; info includes the audit log of sign-ins, changes and refusals")
	f.StringVar(&o.logFormat, "log-format", "json", "json or text")
	f.DurationVar(&o.drain, "drain-time", 5*time.Second, "how long the health check fails before requests are refused")
	o.at.Flags(f, ":8470", "console")
}

// check validates all flags, and makes what the console is of.
func (o *consoleOptions) check() (tenant.Options, error) {
	t := tenant.Options{Keystone: o.keystone, Magnum: o.magnum, Region: o.region, Interface: o.endpoints, Domain: o.domain, TLS: o.at.Certificate != ""}
	wrong := []error{o.at.Check()}
	say := func(flag, what, remedy string) { wrong = append(wrong, fault.Usage(flag, errors.New(what), remedy)) }
	if o.keystone == "" {
		say("--keystone", "it is missing", "give Keystone's URL, such as https://cloud.example:5000")
	}
	for flag, value := range map[string]string{"--keystone": o.keystone, "--magnum": o.magnum, "--public-endpoint": o.public, "--websso-keystone": o.entrance} {
		u, err := url.Parse(value)
		if value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			say(flag, fmt.Sprintf("%q is not a URL", value), "give a URL such as https://cloud.example:5000")
		} else if flag == "--public-endpoint" && value != "" {
			t.Public = u
			if u.Path != "" && u.Path != "/" {
				say(flag, "it has a path", "give a URL without one: the console is at the root of its host")
			}
		}
	}
	if o.endpoints != "public" && o.endpoints != "internal" && o.endpoints != "admin" {
		say("--interface", fmt.Sprintf("%q is unknown", o.endpoints), "use public, internal or admin")
	}
	wrong = append(wrong, o.signIn(&t)...)
	if o.cloudTime <= 0 {
		say("--cloud-timeout", "it is zero or negative", "give a positive value")
	}
	transport, err := o.transport()
	t.HTTP = http.Client{Transport: transport, Timeout: o.cloudTime}
	return t, errors.Join(append(wrong, err)...)
}

// signIn reads what sessions and identity providers need.
func (o *consoleOptions) signIn(t *tenant.Options) (wrong []error) {
	var err error
	if t.Keys, err = guard.NewKeys(o.sessionKey, nil); err != nil {
		wrong = append(wrong, fault.Usage("--session-key", err, "give a file with at least 32 random bytes, such as openssl rand -out FILE 32 makes"))
	}
	for _, text := range o.ways {
		way, err := tenant.ParseWay(text)
		if err != nil {
			wrong = append(wrong, fault.Usage("--websso "+text, err, "write it such as 'Company login=openid'"))
		}
		t.Ways = append(t.Ways, way)
	}
	if len(o.ways) == 0 {
		return wrong
	}
	if t.Public == nil || t.Public.Scheme != "https" {
		wrong = append(wrong, fault.Usage("--websso", errors.New("the console's own URL is not known, or not HTTPS"), "give --public-endpoint https://…: Keystone sends tokens to this URL alone"))
	}
	if t.Entrance, err = url.Parse(cmp.Or(o.entrance, o.keystone)); err != nil {
		t.Entrance = &url.URL{} // told with its flag
	}
	return wrong
}

// transport trusts the cloud's certificates.
func (o *consoleOptions) transport() (http.RoundTripper, error) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport, nil
	}
	transport = transport.Clone()
	if o.caBundle == "" {
		return transport, nil
	}
	text, err := os.ReadFile(o.caBundle)
	if err != nil {
		return nil, fault.Usage("--cloud-ca", err, "give a PEM file of certificates")
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fault.Usage("--cloud-ca", errors.New("it has no certificate"), "give a PEM file of certificates")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// serve runs the console until ctx is cancelled.
func (o *consoleOptions) serve(ctx context.Context, streams ui.Streams) error {
	t, err := o.check()
	if err != nil {
		return err
	}
	log, err := newLogger(streams.Err, o.logLevel, o.logFormat)
	if err != nil {
		return err
	}
	log.install()
	defer collectOften()()
	t.Log = slog.New(logr.ToSlogHandler(log.named("console")))
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // readings go on while requests are drained
	defer stop()
	handler, err := tenant.New(work, t)
	if err != nil {
		return err
	}
	d := &drained{Handler: handler}
	context.AfterFunc(ctx, func() { time.AfterFunc(o.drain, stop) }) // open pages are streams that would not end by themselves
	return d.listen(ctx, o.at, 2*time.Minute, o.drain, t.Log)
}
