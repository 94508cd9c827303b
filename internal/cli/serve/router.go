package serve

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/router"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// routerOptions are the flags of `slipway serve magnum-router`.
type routerOptions struct {
	options
	at          listen.Options
	drain       time.Duration
	installCRDs bool
	identity

	members membership
	router  router.Options
}

func newRouter(streams ui.Streams) *cobra.Command {
	o := &routerOptions{}
	cmd := &cobra.Command{
		Use:   "magnum-router",
		Short: "Serve several management clusters behind one Magnum API",
		Long: `Serves OpenStack's container-infra API for several management clusters, each of which
serves its own (see "slipway serve magnum"). A project is on one of them, and its requests
go there as they are. A new project goes where the fewest are; one that has clusters or
templates already goes where they are. Placements, custom resources on the cluster of
--kubeconfig, remember it: "kubectl get placements".

Lists, numbers and services of an administrator are of all management clusters. If one of
them does not answer, these requests and those of its own projects fail, with its name.

The service user comes from clouds.yaml and validates tokens, as that of the API. Every
management cluster validates them again: the router has no rights there.

Give it the policy file of the management clusters, and give them its address as their
--public-endpoint.`,
		Example: `  slipway serve magnum-router --os-cloud magnum --member east=https://10.0.0.5:9511 --member west=https://10.0.1.5:9511
  slipway serve magnum-router --os-cloud magnum --member east=https://east:9511 --member west=https://west:9511 --closed east --member-ca ca.pem
  slipway serve magnum-router --kubeconfig ~/.kube/config --install-crds --os-cloud devstack --member a=http://127.0.0.1:9512 --listen 127.0.0.1:9511`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), streams) },
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *routerOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster with the placements (default: the pod's service account)")
	f.StringVar(&o.metricsAddress, "metrics-address", ":8080", "address of Prometheus metrics over HTTP, at /metrics; 0 turns them off")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error; info includes the audit log of all changes and refusals")
	f.StringVar(&o.logFormat, "log-format", "json", "json or text")
	f.DurationVar(&o.drain, "drain-time", 5*time.Second, "how long the health check fails before requests are refused")
	f.BoolVar(&o.installCRDs, "install-crds", false, "apply the CustomResourceDefinitions first")
	o.at.Flags(f, ":9511", "API")
	o.identity.flags(f, "; management clusters are trusted by them too", "Magnum's")
	o.members.flags(f, "management cluster")
	r := &o.router
	f.StringVar(&r.PublicEndpoint, "public-endpoint", "", "base URL of links, such as https://cloud.example:9511/v1 (default: the URL of the request)")
	f.BoolVar(&r.TrustForwarded, "trust-forwarded-headers", false, "trust the headers Forwarded and X-Forwarded-*; use it only behind a proxy that sets them")
	f.IntVar(&r.MaxLimit, "max-limit", 1000, "maximum number of entries per page of a list of all projects")
	f.Int64Var(&r.MaxBody, "max-body", 112<<10, "maximum size of a request body, in bytes")
	f.DurationVar(&r.RequestTime, "request-timeout", 47*time.Second, "maximum duration of a request; more than that of the management clusters, less than the 50s of Octavia's load balancers")
	placesFlags(f, &r.MaxReads, &r.MaxWrites)
}

// check validates all flags and files before anything starts.
func (o *routerOptions) check() error {
	wrong := []error{o.at.Check()}
	say := func(err error) { wrong = append(wrong, err) }
	if len(o.members.given) == 0 {
		say(fault.Usage("--member", errors.New("it is missing"), memberFix+", once for each management cluster"))
	}
	var err error
	o.router.Members, err = o.members.read()
	say(err)
	if u, err := url.Parse(o.router.PublicEndpoint); o.router.PublicEndpoint != "" && (err != nil || u.Host == "") {
		say(fault.Usage("--public-endpoint", fmt.Errorf("%q is not a URL", o.router.PublicEndpoint), "give a URL such as https://cloud.example:9511/v1"))
	}
	say(atLeast("--max-limit", o.router.MaxLimit, 1))
	say(atLeast("--max-body", o.router.MaxBody, 1))
	say(checkPlaces(o.router.MaxReads, o.router.MaxWrites))
	say(atLeast("--token-cache-time", o.remember, time.Millisecond))
	say(atLeast("--request-timeout", o.router.RequestTime, time.Millisecond))
	o.router.Policy, err = o.rules("docs/guides/magnum.md", policy.New)
	say(err)
	o.router.Transport, err = o.members.transport(o.caBundle)
	say(err)
	return errors.Join(wrong...)
}
