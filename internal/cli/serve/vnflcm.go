package serve

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// vnflcmOptions are the flags of `slipway serve vnflcm`.
type vnflcmOptions struct {
	options
	at          listen.Options
	drain       time.Duration
	installCRDs bool
	identity

	public       string
	trustForward bool
	allowed      []string
	callbackCA   string
	api          api.Options
	worker       worker.Options
	links        openstackapi.Addresses
}

func newVNFLCM(streams ui.Streams) *cobra.Command {
	o := &vnflcmOptions{}
	cmd := &cobra.Command{
		Use:   "vnflcm",
		Short: "Serve VNF lifecycle management (SOL003) for clusters",
		Long: `Serves ETSI's VNF lifecycle management API (SOL003 2.0.0, as OpenStack Tacker's v2 API
has it) for packages of workload clusters, for clouds without a Tacker. Make the packages
with "slipway tacker csar workload", and offer them with "slipway tacker onboard".

Its state is kept in custom resources of vnflcm.slipway.sh on the cluster of --kubeconfig,
which is the management cluster: the endpoint applies the packages there. You can run
several replicas; one of them performs the operations.

Notifications go to public addresses over HTTPS. List other hosts and networks in
--callback-allow.`,
		Example: `  slipway serve vnflcm --os-cloud nfv --public-endpoint https://cloud.example:9890 --tls-cert tls.crt --tls-key tls.key
  slipway serve vnflcm --kubeconfig kubeconfig --os-cloud devstack --install-crds --public-endpoint http://127.0.0.1:9890 --listen 127.0.0.1:9890
  slipway serve vnflcm --os-cloud nfv --public-endpoint https://cloud.example:9890 --callback-allow nfvo.example,10.20.0.0/24`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), streams) },
	}
	o.commonFlags(cmd.Flags())
	o.identity.flags(cmd.Flags(), "", "the")
	o.apiFlags(cmd.Flags())
	return cmd
}

func (o *vnflcmOptions) commonFlags(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	f.StringVar(&o.metricsAddress, "metrics-address", ":8080", "address of Prometheus metrics over HTTP, at /metrics; 0 turns them off")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error; info includes the audit log of all changes and refusals")
	f.StringVar(&o.logFormat, "log-format", "json", "json or text")
	f.DurationVar(&o.drain, "drain-time", 5*time.Second, "how long the health check fails before requests are refused")
	f.BoolVar(&o.installCRDs, "install-crds", false, "apply the CustomResourceDefinitions first")
	f.BoolVar(&o.election, "leader-election", true, "perform operations only while holding the lease; turn it off for a single process")
	f.StringVar(&o.electionNamespace, "leader-election-namespace", "slipway-system", "namespace of the lease")
	o.at.Flags(f, ":9890", "API")
}

func (o *vnflcmOptions) apiFlags(f *pflag.FlagSet) {
	a, w := &o.api, &o.worker
	f.StringVar(&o.public, "public-endpoint", "", "base URL of links and notifications, such as https://cloud.example:9890; it is required")
	f.BoolVar(&o.trustForward, "trust-forwarded-headers", false, "trust the headers Forwarded and X-Forwarded-*; use it only behind a proxy that sets them")
	f.IntVar(&a.PageSize, "page-size", 0, "number of entries per page of a list; 0 has no pages")
	f.Int64Var(&a.MaxBody, "max-body", 112<<10, "maximum size of a request body, in bytes")
	f.DurationVar(&a.RequestTime, "request-timeout", 45*time.Second, "maximum duration of a request; load balancers of Octavia end connections without data after 50s")
	placesFlags(f, &a.MaxReads, &a.MaxWrites)
	f.StringVar(&a.VIMID, "vim-id", "management-cluster", "vimId by which requests may name the management cluster")
	f.StringSliceVar(&w.Endpoints, "vim-endpoint", nil, "addresses of the management cluster that vimConnectionInfo may name (default: that of the kubeconfig)")
	f.StringSliceVar(&o.allowed, "callback-allow", nil, "hosts and networks that callbacks may be in although they are not public; they may use plain HTTP")
	f.StringVar(&o.callbackCA, "callback-ca", "", "PEM file of additional CA certificates of callbacks and their token servers")
	f.BoolVar(&a.SkipTest, "skip-callback-test", false, "create subscriptions without asking the callback first")
	f.DurationVar(&w.Wait, "operation-timeout", 30*time.Minute, "how long an operation waits for machines before it fails")
	f.DurationVar(&w.Forceful, "forceful-timeout", 10*time.Minute, "the same for a termination by force")
	f.DurationVar(&w.Keep, "keep-operations", 30*24*time.Hour, "how long operation occurrences are kept after their end")
}

// check validates all flags and files before anything starts.
func (o *vnflcmOptions) check() error {
	wrong := []error{o.at.Check()}
	say := func(err error) { wrong = append(wrong, err) }
	var err error
	if o.public == "" {
		say(fault.Usage("--public-endpoint", errors.New("it is missing"), "give the URL that clients use, such as https://cloud.example:9890"))
	} else if o.links, err = openstackapi.NewAddresses(o.public, view.Root, o.trustForward); err != nil {
		say(fault.Usage("--public-endpoint", err, "give a URL such as https://cloud.example:9890"))
	}
	say(atLeast("--page-size", o.api.PageSize, 0))
	say(atLeast("--max-body", o.api.MaxBody, 1))
	say(atLeast("--token-cache-time", o.remember, time.Millisecond))
	say(atLeast("--request-timeout", o.api.RequestTime, time.Millisecond))
	say(checkPlaces(o.api.MaxReads, o.api.MaxWrites))
	say(atLeast("--operation-timeout", o.worker.Wait, time.Millisecond))
	say(atLeast("--forceful-timeout", o.worker.Forceful, time.Millisecond))
	say(atLeast("--keep-operations", o.worker.Keep, time.Millisecond))
	o.api.Policy, err = o.rules("docs/guides/vnflcm.md", func(text []byte) (*policy.Enforcer, error) {
		return policy.Of("the endpoint", api.PolicyDefaults(), text)
	})
	say(err)
	say(o.checkCallbacks())
	return errors.Join(wrong...)
}

func (o *vnflcmOptions) checkCallbacks() error {
	var ca []byte
	var err error
	if o.callbackCA != "" {
		if ca, err = os.ReadFile(o.callbackCA); err != nil {
			return fault.Usage("--callback-ca", err, "give a PEM file of certificates")
		}
	}
	rules, err := callback.NewRules(o.allowed, ca)
	if err != nil {
		return fault.Usage("--callback-allow and --callback-ca", fmt.Errorf("reading them: %w", err), "list hosts, addresses and networks, and give a PEM file")
	}
	o.worker.Caller = callback.NewCaller(rules)
	return nil
}
