package main

import (
	"crypto/tls"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	config "github.com/cert-manager/cert-manager/internal/apis/config/cainjector"
	cmscheme "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	servertls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/slipway/serving"
)

// component is the name of the injector's lease owner and of its secrets.
const component = "cert-manager-cainjector"

func newManager(cfg *config.CAInjectorConfiguration, kubeconfig *rest.Config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kscheme.AddToScheme, cmscheme.AddToScheme, apiext.AddToScheme, apireg.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering API types: %w", err)
		}
	}
	certificates := serving.CertificateSource(cfg.MetricsTLSConfig, kubeconfig, component)
	metrics, err := metricsOptions(cfg, certificates)
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme: scheme,
		Cache:  cache.Options{ReaderFailOnMissingInformer: true},
		// Secrets are watched by their metadata and read when needed: a copy of
		// every secret of the cluster in memory would be large.
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics: metrics,
	}
	if cfg.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{cfg.Namespace: {}}
	}
	elect(&options, cfg)
	manager, err := ctrl.NewManager(kubeconfig, options)
	if err != nil {
		return nil, fmt.Errorf("creating manager: %w", err)
	}
	if certificates != nil {
		if err := manager.Add(certificates); err != nil {
			return nil, fmt.Errorf("adding certificates of the metrics endpoint: %w", err)
		}
	}
	return manager, nil
}

// elect sets up the lease. Its name is upstream's, so that injectors of both
// builds never work side by side.
func elect(options *ctrl.Options, cfg *config.CAInjectorConfiguration) {
	election := &cfg.LeaderElectionConfig
	options.LeaderElection = election.Enabled
	options.LeaderElectionNamespace = election.Namespace
	options.LeaderElectionID = component + "-leader-election"
	options.LeaderElectionLabels = map[string]string{"app.kubernetes.io/managed-by": component}
	options.LeaderElectionResourceLock = resourcelock.LeasesResourceLock
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration = &election.LeaseDuration
	options.RenewDeadline = &election.RenewDeadline
	options.RetryPeriod = &election.RetryPeriod
}

func metricsOptions(cfg *config.CAInjectorConfiguration, certificates servertls.CertificateSource) (metricsserver.Options, error) {
	options := metricsserver.Options{BindAddress: cfg.MetricsListenAddress}
	if certificates == nil {
		return options, nil
	}
	suites, err := cliflag.TLSCipherSuites(cfg.MetricsTLSConfig.CipherSuites)
	if err != nil {
		return options, fmt.Errorf("choosing cipher suites of the metrics endpoint: %w", err)
	}
	version, err := cliflag.TLSVersion(cfg.MetricsTLSConfig.MinTLSVersion)
	if err != nil {
		return options, fmt.Errorf("choosing the TLS version of the metrics endpoint: %w", err)
	}
	options.SecureServing = true
	options.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
		c.CipherSuites = suites
		c.MinVersion = version
		c.GetCertificate = certificates.GetCertificate
	}}
	return options, nil
}
