package main

import (
	"strings"

	"github.com/spf13/pflag"

	config "github.com/cert-manager/cert-manager/internal/apis/config/controller"
	defaults "github.com/cert-manager/cert-manager/internal/apis/config/controller/v1alpha1"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/slipway/settings"
)

// bindFlags binds upstream's flags. Limits on the size of PEM data have no flag
// here; the configuration file has them.
func bindFlags(fs *pflag.FlagSet, c *config.ControllerConfiguration) {
	bindCluster(fs, c)
	bindControllers(fs, c)
	bindHTTP01(fs, &c.ACMEHTTP01Config)
	bindDNS01(fs, &c.ACMEDNS01Config)
	bindIngressShim(fs, &c.IngressShimConfig)
	bindGatewayAPI(fs, &c.GatewayAPIConfig)
	bindHealth(fs, c)
	settings.LeaderElection(fs, &c.LeaderElectionConfig.LeaderElectionConfig)
	settings.Metrics(fs, &c.MetricsListenAddress, &c.MetricsTLSConfig)
	settings.Profiling(fs, &c.EnablePprof, &c.PprofAddress)
	settings.FeatureGates(fs, &c.FeatureGates)
	logf.AddFlags(&c.Logging, fs)
}

func bindCluster(fs *pflag.FlagSet, c *config.ControllerConfiguration) {
	fs.StringVar(&c.APIServerHost, "master", c.APIServerHost,
		"Address of the API server, instead of the kubeconfig's.")
	fs.StringVar(&c.KubeConfig, "kubeconfig", c.KubeConfig,
		"Path of a kubeconfig. Without it, the pod's service account is used.")
	fs.Float32Var(&c.KubernetesAPIQPS, "kube-api-qps", c.KubernetesAPIQPS,
		"Requests per second to an API server that does not limit them itself.")
	fs.IntVar(&c.KubernetesAPIBurst, "kube-api-burst", c.KubernetesAPIBurst,
		"Requests at once to an API server that does not limit them itself.")
	fs.StringVar(&c.Namespace, "namespace", c.Namespace,
		"The one namespace to work in, without ClusterIssuers then. Without it, all of them.")
	fs.StringVar(&c.ClusterResourceNamespace, "cluster-resource-namespace", c.ClusterResourceNamespace,
		"Namespace of the secrets of ClusterIssuers.")
}

func bindControllers(fs *pflag.FlagSet, c *config.ControllerConfiguration) {
	fs.StringSliceVar(&c.Controllers, "controllers", c.Controllers,
		"Controllers to run: their names, * for those that run by default, -name for all but that one. Known: "+
			strings.Join(defaults.AllControllers, ", "))
	fs.IntVar(&c.NumberOfConcurrentWorkers, "concurrent-workers", c.NumberOfConcurrentWorkers,
		"Workers of each controller.")
	fs.IntVar(&c.MaxConcurrentChallenges, "max-concurrent-challenges", c.MaxConcurrentChallenges,
		"ACME challenges that are worked on at once.")
	fs.BoolVar(&c.ClusterIssuerAmbientCredentials, "cluster-issuer-ambient-credentials", c.ClusterIssuerAmbientCredentials,
		"Let ClusterIssuers use credentials of the environment, such as those of a metadata service.")
	fs.BoolVar(&c.IssuerAmbientCredentials, "issuer-ambient-credentials", c.IssuerAmbientCredentials,
		"Let Issuers use credentials of the environment, such as those of a metadata service.")
	fs.BoolVar(&c.EnableCertificateOwnerRef, "enable-certificate-owner-ref", c.EnableCertificateOwnerRef,
		"Delete a certificate's secret together with the Certificate.")
	fs.StringSliceVar(&c.CopiedAnnotationPrefixes, "copied-annotation-prefixes", c.CopiedAnnotationPrefixes,
		"Prefixes of annotations that requests and orders take over; -prefix for those that they do not.")
	fs.DurationVar(&c.CertificateRequestMinimumBackoffDuration, "certificate-request-minimum-backoff-duration",
		c.CertificateRequestMinimumBackoffDuration, "Wait after a first failed request; it doubles with each further one.")
	fs.DurationVar(&c.CertificateRequestMaximumBackoffDuration, "certificate-request-maximum-backoff-duration",
		c.CertificateRequestMaximumBackoffDuration, "Longest wait after a failed request.")
}

func bindHTTP01(fs *pflag.FlagSet, c *config.ACMEHTTP01Config) {
	fs.StringVar(&c.SolverImage, "acme-http01-solver-image", c.SolverImage,
		"Image of the pods that answer HTTP-01 challenges.")
	fs.StringVar(&c.SolverResourceRequestCPU, "acme-http01-solver-resource-request-cpu", c.SolverResourceRequestCPU,
		"CPU request of these pods.")
	fs.StringVar(&c.SolverResourceRequestMemory, "acme-http01-solver-resource-request-memory", c.SolverResourceRequestMemory,
		"Memory request of these pods.")
	fs.StringVar(&c.SolverResourceLimitsCPU, "acme-http01-solver-resource-limits-cpu", c.SolverResourceLimitsCPU,
		"CPU limit of these pods.")
	fs.StringVar(&c.SolverResourceLimitsMemory, "acme-http01-solver-resource-limits-memory", c.SolverResourceLimitsMemory,
		"Memory limit of these pods.")
	fs.BoolVar(&c.SolverRunAsNonRoot, "acme-http01-solver-run-as-non-root", c.SolverRunAsNonRoot,
		"Do not let these pods run as root.")
	fs.StringVar(&c.SolverRuntimeClassName, "acme-http01-solver-runtime-class-name", c.SolverRuntimeClassName,
		"Runtime class of these pods.")
	fs.StringToStringVar(&c.SolverExtraLabels, "acme-http01-solver-extra-labels", c.SolverExtraLabels,
		"Further labels, name=value, of these pods and of what leads to them.")
	fs.StringSliceVar(&c.SolverNameservers, "acme-http01-solver-nameservers", c.SolverNameservers,
		"Nameservers, address:port, for checking an HTTP-01 challenge before the ACME server does.")
}

func bindDNS01(fs *pflag.FlagSet, c *config.ACMEDNS01Config) {
	fs.StringSliceVar(&c.RecursiveNameservers, "dns01-recursive-nameservers", c.RecursiveNameservers,
		"Nameservers, address:port or https://host/path, for checking a DNS-01 challenge before the ACME server does.")
	fs.BoolVar(&c.RecursiveNameserversOnly, "dns01-recursive-nameservers-only", c.RecursiveNameserversOnly,
		"Ask these nameservers alone and not the authoritative ones.")
	fs.DurationVar(&c.CheckRetryPeriod, "dns01-check-retry-period", c.CheckRetryPeriod,
		"Time between two checks of a challenge, HTTP-01 or DNS-01.")
}

func bindIngressShim(fs *pflag.FlagSet, c *config.IngressShimConfig) {
	fs.StringVar(&c.DefaultIssuerName, "default-issuer-name", c.DefaultIssuerName,
		"Issuer of ingresses that ask for a certificate and name none.")
	fs.StringVar(&c.DefaultIssuerKind, "default-issuer-kind", c.DefaultIssuerKind, "Kind of that issuer.")
	fs.StringVar(&c.DefaultIssuerGroup, "default-issuer-group", c.DefaultIssuerGroup, "API group of that issuer.")
	fs.StringSliceVar(&c.DefaultAutoCertificateAnnotations, "auto-certificate-annotations", c.DefaultAutoCertificateAnnotations,
		"Annotations by which an ingress asks for a certificate of that issuer.")
	fs.StringSliceVar(&c.ExtraCertificateAnnotations, "extra-certificate-annotations", c.ExtraCertificateAnnotations,
		"Annotations that a Certificate takes over from its ingress.")
}

func bindGatewayAPI(fs *pflag.FlagSet, c *config.GatewayAPIConfig) {
	fs.BoolVar(&c.Enabled, "enable-gateway-api", c.Enabled,
		"Serve Gateways, whose definitions have to be installed then.")
	fs.BoolVar(&c.EnableListenerSet, "enable-gateway-api-listenerset", c.EnableListenerSet,
		"Serve ListenerSets too; needs the feature gate ListenerSets.")
	fs.StringSliceVar(&c.ExtraProtocols, "gateway-api-extra-protocols", c.ExtraProtocols,
		"Protocols of listeners, beside HTTPS and TLS, that take a certificate.")
}

// bindHealth binds the flags that upstream hides: the probes of the chart rely
// on their defaults.
func bindHealth(fs *pflag.FlagSet, c *config.ControllerConfiguration) {
	const address, timeout = "internal-healthz-listen-address", "internal-healthz-leader-election-timeout"
	fs.StringVar(&c.HealthzListenAddress, address, c.HealthzListenAddress, "Host and port of /livez.")
	fs.DurationVar(&c.LeaderElectionConfig.HealthzTimeout, timeout, c.LeaderElectionConfig.HealthzTimeout,
		"How long after a lease has run out /livez still answers well.")
	for _, name := range []string{address, timeout} {
		fs.Lookup(name).Hidden = true
	}
}
