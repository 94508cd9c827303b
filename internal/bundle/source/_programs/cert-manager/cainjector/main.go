// cainjector writes CA certificates into webhook configurations, API services
// and the conversion webhooks of custom resource definitions.
package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"

	config "github.com/cert-manager/cert-manager/internal/apis/config/cainjector"
	"github.com/cert-manager/cert-manager/internal/apis/config/cainjector/scheme"
	"github.com/cert-manager/cert-manager/internal/apis/config/cainjector/validation"
	_ "github.com/cert-manager/cert-manager/internal/cainjector/feature" // registers the feature gates
	"github.com/cert-manager/cert-manager/pkg/apis/config/cainjector/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/cainjector/configfile"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/slipway/command"
	"github.com/cert-manager/cert-manager/slipway/settings"
)

func main() {
	command.Main("cainjector", newCommand)
}

func newCommand() (*cobra.Command, error) {
	cfg, err := defaults()
	if err != nil {
		return nil, err
	}
	file := configfile.New()
	s := &settings.Settings{
		Flags:    func(fs *pflag.FlagSet) { bindFlags(fs, cfg) },
		File:     file,
		Adopt:    func() { file.Config.DeepCopyInto(cfg) },
		Validate: func() field.ErrorList { return validation.ValidateCAInjectorConfiguration(cfg, nil) },
		Logging:  &cfg.Logging,
		Gates:    &cfg.FeatureGates,
	}
	return s.Command("cainjector", "CA injector of cert-manager.", func(ctx context.Context) error {
		return run(ctx, cfg)
	}), nil
}

func defaults() (*config.CAInjectorConfiguration, error) {
	scheme, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	versioned, cfg := &v1alpha1.CAInjectorConfiguration{}, &config.CAInjectorConfiguration{}
	scheme.Default(versioned)
	return cfg, scheme.Convert(versioned, cfg, nil)
}

func bindFlags(fs *pflag.FlagSet, c *config.CAInjectorConfiguration) {
	fs.StringVar(&c.KubeConfig, "kubeconfig", c.KubeConfig,
		"Path of a kubeconfig. Without it, KUBECONFIG or the pod's service account is used.")
	fs.StringVar(&c.Namespace, "namespace", c.Namespace,
		"The one namespace to take CA certificates from. Without it, all of them.")
	fs.StringSliceVar(&c.IgnoreNamespaces, "ignore-namespaces", c.IgnoreNamespaces,
		"Namespaces to take no CA certificates from. Not together with --namespace.")
	fs.BoolVar(&c.EnableDataSourceConfig.Certificates, "enable-certificates-data-source", c.EnableDataSourceConfig.Certificates,
		"Take CA certificates from Certificate resources, whose definition has to be installed then.")

	kinds := &c.EnableInjectableConfig
	fs.BoolVar(&kinds.ValidatingWebhookConfigurations, "enable-validatingwebhookconfigurations-injectable",
		kinds.ValidatingWebhookConfigurations, "Write into ValidatingWebhookConfigurations.")
	fs.BoolVar(&kinds.MutatingWebhookConfigurations, "enable-mutatingwebhookconfigurations-injectable",
		kinds.MutatingWebhookConfigurations, "Write into MutatingWebhookConfigurations.")
	fs.BoolVar(&kinds.CustomResourceDefinitions, "enable-customresourcedefinitions-injectable",
		kinds.CustomResourceDefinitions, "Write into CustomResourceDefinitions.")
	fs.BoolVar(&kinds.APIServices, "enable-apiservices-injectable",
		kinds.APIServices, "Write into APIServices.")

	settings.LeaderElection(fs, &c.LeaderElectionConfig)
	settings.Metrics(fs, &c.MetricsListenAddress, &c.MetricsTLSConfig)
	settings.Profiling(fs, &c.EnablePprof, &c.PprofAddress)
	settings.FeatureGates(fs, &c.FeatureGates)
	logf.AddFlags(&c.Logging, fs)
}
