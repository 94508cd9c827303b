package serve

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/certificate"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// magnumOptions are the flags of `slipway serve magnum`.
type magnumOptions struct {
	options
	at          listen.Options
	drain       time.Duration
	installCRDs bool

	cloud, region, authURL, caBundle string
	remember                         time.Duration
	policyFile                       string
	credentials                      openstack.CredentialOptions
	quota                            int32
	lease, peers                     string
	api                              api.Options
}

func newMagnum(streams ui.Streams) *cobra.Command {
	o := &magnumOptions{}
	cmd := &cobra.Command{
		Use:   "magnum",
		Short: "Serve the Magnum-compatible REST API",
		Long: `Magnum answers OpenStack's container-infra API, versions 1.1 to 1.14. Its state are
resources of magnum.slipway.sh in the cluster of --kubeconfig; controllers make
clusters of them. It needs no database, and any number of replicas may run.

The service user comes from clouds.yaml (--os-cloud, OS_CLOUD,
OS_CLIENT_CONFIG_FILE): it validates tokens, so it needs the role service or admin.
Everything else is done with the tokens of callers.

On SIGTERM the health check answers 503 for --drain-time, so that load balancers
look elsewhere, then requests in hand are ended.`,
		Example: `  slipway serve magnum --os-cloud magnum --tls-cert tls.crt --tls-key tls.key
  slipway serve magnum --kubeconfig ~/.kube/config --os-cloud devstack --install-crds --listen 127.0.0.1:9511
  slipway serve magnum --os-cloud magnum --public-endpoint https://cloud.example:9511/v1 --policy-file policy.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), streams) },
	}
	o.commonFlags(cmd.Flags())
	o.cloudFlags(cmd.Flags())
	o.apiFlags(cmd.Flags())
	return cmd
}

func (o *magnumOptions) commonFlags(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file that leads to the cluster (default: the pod's service account)")
	f.StringVar(&o.metricsAddress, "metrics-address", ":8080", "address of Prometheus metrics over HTTP, at /metrics; 0 is none")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error; info has every change and refusal (the audit log)")
	f.StringVar(&o.logFormat, "log-format", "json", "json or text")
	f.DurationVar(&o.drain, "drain-time", 5*time.Second, "how long the health check says no before requests are refused")
	f.StringVar(&o.peers, "peers", "", "host:port of all replicas' metrics addresses, such as of a headless Service: a write is answered when each of them shows it")
	f.BoolVar(&o.installCRDs, "install-crds", false, "apply the definitions of the resources first")
	o.at.Flags(f, ":9511", "API")
}

func (o *magnumOptions) cloudFlags(f *pflag.FlagSet) {
	f.StringVar(&o.cloud, "os-cloud", "", "entry of clouds.yaml of the service user (default: OS_CLOUD, or the only entry)")
	f.StringVar(&o.region, "region", "", "region of the services (default: the entry's)")
	f.StringVar(&o.authURL, "auth-url", "", "Keystone's public address, told to clients without a token (default: the entry's)")
	f.StringVar(&o.caBundle, "cloud-ca", "", "file of certificates in PEM that the cloud is trusted by besides; clusters get it too")
	f.DurationVar(&o.remember, "token-cache-time", time.Minute, "how long a validated token is trusted without asking Keystone: the longest that a revoked one still works")
	f.StringVar(&o.policyFile, "policy-file", "", "rules of oslo.policy over Magnum's defaults, YAML or JSON")
	f.StringSliceVar(&o.credentials.Roles, "credential-roles", []string{"member", "load-balancer_member", "creator"}, "roles of clusters' application credentials, as far as the caller has them; empty is all of the caller's")
	f.StringVar(&o.credentials.Interface, "credential-interface", "public", "interface that clusters use: public, internal or admin")
}

func (o *magnumOptions) apiFlags(f *pflag.FlagSet) {
	a := &o.api
	f.StringVar(&a.PublicEndpoint, "public-endpoint", "", "address for links, such as https://cloud.example:9511/v1 (default: what each request was sent to)")
	f.BoolVar(&a.TrustForwarded, "trust-forwarded-headers", false, "believe Forwarded and X-Forwarded-*; only behind a proxy that sets them")
	f.StringSliceVar(&a.Origins, "cors-origin", nil, "origins of browsers that may call; * is any")
	f.StringVar(&a.DisableFile, "disable-by-file", "", "the health check says no while this file exists")
	f.IntVar(&a.MaxLimit, "max-limit", 1000, "longest page of a list")
	f.Int64Var(&a.MaxBody, "max-body", 112<<10, "largest body of a request, in bytes")
	f.DurationVar(&a.RequestTime, "request-timeout", time.Minute, "how long a request may take")
	f.Int32Var(&o.quota, "default-quota", 20, "clusters of a project without a quota of its own")
	f.DurationVar(&a.Term, "certificate-term", certificate.Term, "how long signed certificates are good")
	f.StringVar(&o.lease, "controllers-lease", "slipway-system/slipway-magnum", "namespace/name of the controllers' lease, for GET /v1/mservices")
	r := &a.Rules
	f.StringVar(&r.NetworkDriver, "network-driver", "calico", "CNI of templates that name none")
	f.StringSliceVar(&r.NetworkDrivers, "network-drivers", []string{"calico", "cilium"}, "CNIs that templates may name; all is any")
	f.StringSliceVar(&r.Distros, "os-distros", nil, "values of os_distro of images that can be built (default: those of both Cluster API drivers)")
	f.IntVar(&r.MinRAM, "min-flavor-ram", 2048, "memory in MiB that a node needs")
	f.IntVar(&r.MinVCPUs, "min-flavor-vcpus", 2, "vCPUs that a node needs")
	f.IntVar(&r.BootVolumeSize, "boot-volume-size", 0, "GB of the boot volume of clusters without the label; 0 is the flavor's disk")
	f.BoolVar(&r.RotateCA, "ca-rotation", false, "accept requests for new certificate authorities; the controllers must know them")
}

// check looks at all flags and files before anything starts.
func (o *magnumOptions) check() error {
	if err := o.at.Check(); err != nil {
		return err
	}
	if _, err := o.leaseName(); err != nil {
		return err
	}
	if u, err := url.Parse(o.api.PublicEndpoint); o.api.PublicEndpoint != "" && (err != nil || u.Host == "") {
		return fault.Usage("--public-endpoint", fmt.Errorf("%q is no address", o.api.PublicEndpoint), "give one such as https://cloud.example:9511/v1")
	}
	if o.quota < 0 || o.api.MaxLimit < 1 || o.api.MaxBody < 1 || o.remember <= 0 || o.api.RequestTime <= 0 || o.api.Term <= 0 {
		return fault.Usage("--max-limit, --max-body, --default-quota, --token-cache-time, --request-timeout, --certificate-term", fmt.Errorf("one of them is too small"), "give positive values")
	}
	if err := o.checkPeers(); err != nil {
		return err
	}
	return o.readFiles()
}

// checkPeers makes sure that replicas that wait for each other can.
func (o *magnumOptions) checkPeers() error {
	if o.peers == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(o.peers); err != nil {
		return fault.Usage("--peers", err, "give host:port, such as slipway-magnum.slipway-system.svc:8080")
	}
	if o.metricsAddress == noServer {
		return fault.Usage("--peers", fmt.Errorf("--metrics-address is 0"), "give a metrics address: replicas ask each other there")
	}
	return nil
}

// readFiles reads the files that flags name.
func (o *magnumOptions) readFiles() error {
	var rules []byte
	var err error
	if o.policyFile != "" {
		if rules, err = os.ReadFile(o.policyFile); err != nil {
			return fault.Usage("--policy-file", err, "give a file that can be read")
		}
	}
	if o.api.Policy, err = policy.New(rules); err != nil {
		return fault.Usage("policy file "+o.policyFile, err, "correct the rule; the names and defaults are in docs/guides/magnum.md")
	}
	if o.caBundle != "" {
		if o.credentials.CACert, err = os.ReadFile(o.caBundle); err != nil {
			return fault.Usage("--cloud-ca", err, "give a file of certificates in PEM")
		}
	}
	return nil
}

func (o *magnumOptions) leaseName() (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(o.lease, "/")
	if !ok || namespace == "" || name == "" {
		return types.NamespacedName{}, fault.Usage("--controllers-lease", fmt.Errorf("%q is no namespace/name", o.lease), "give one such as slipway-system/slipway-magnum")
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// identityURL is what clients are told to log in at.
func (o *magnumOptions) identityURL(entry string) string { return cmp.Or(o.authURL, entry) }
