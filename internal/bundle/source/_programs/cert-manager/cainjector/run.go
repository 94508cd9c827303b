package main

import (
	"context"
	"fmt"
	"net"
	"time"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "github.com/cert-manager/cert-manager/internal/apis/config/cainjector"
	"github.com/cert-manager/cert-manager/internal/kube"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
	"github.com/cert-manager/cert-manager/slipway/serving"
)

// definitionTimeout is how long the definition of Certificates may take to
// appear: the injector may be started together with it.
const definitionTimeout = 5 * time.Minute

func run(ctx context.Context, cfg *config.CAInjectorConfiguration) error {
	ctrl.SetLogger(logf.FromContext(ctx))
	kubeconfig, err := clientConfig(cfg.KubeConfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	// The injector's field manager is the user agent's name.
	manager, err := newManager(cfg, util.RestConfigWithUserAgent(kubeconfig, "cainjector"))
	if err != nil {
		return err
	}
	if cfg.EnablePprof {
		if err := addProfiler(ctx, manager, cfg.PprofAddress); err != nil {
			return err
		}
	}
	if cfg.EnableDataSourceConfig.Certificates {
		if err := awaitCertificates(ctx, manager); err != nil {
			return fmt.Errorf("waiting for the definition of certificates: %w", err)
		}
	}
	if err := cainjector.RegisterAllInjectors(ctx, manager, injectors(cfg)); err != nil {
		return fmt.Errorf("registering injectors: %w", err)
	}
	return manager.Start(ctx)
}

func clientConfig(path string) (*rest.Config, error) {
	if path == "" {
		return ctrl.GetConfig()
	}
	return kube.BuildClientConfig("", path)
}

func injectors(cfg *config.CAInjectorConfiguration) cainjector.SetupOptions {
	return cainjector.SetupOptions{
		Namespace:                    cfg.Namespace,
		IgnoreNamespaces:             cfg.IgnoreNamespaces,
		EnableCertificatesDataSource: cfg.EnableDataSourceConfig.Certificates,
		EnabledReconcilersFor: map[string]bool{
			cainjector.ValidatingWebhookConfigurationName: cfg.EnableInjectableConfig.ValidatingWebhookConfigurations,
			cainjector.MutatingWebhookConfigurationName:   cfg.EnableInjectableConfig.MutatingWebhookConfigurations,
			cainjector.CustomResourceDefinitionName:       cfg.EnableInjectableConfig.CustomResourceDefinitions,
			cainjector.APIServiceName:                     cfg.EnableInjectableConfig.APIServices,
		},
	}
}

// awaitCertificates returns once Certificates are defined. A watch on a kind
// that is not defined would end the manager.
func awaitCertificates(ctx context.Context, manager ctrl.Manager) error {
	reader := manager.GetAPIReader()
	return wait.PollUntilContextTimeout(ctx, time.Second, definitionTimeout, true, func(ctx context.Context) (bool, error) {
		var definition apiext.CustomResourceDefinition
		err := reader.Get(ctx, client.ObjectKey{Name: "certificates.cert-manager.io"}, &definition)
		if apierrors.IsNotFound(err) {
			logf.FromContext(ctx).Info("waiting for the definition of certificates")
			return false, nil
		}
		return err == nil, err
	})
}

func addProfiler(ctx context.Context, manager ctrl.Manager, address string) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening for the profiler: %w", err)
	}
	return manager.Add(everyReplica(func(ctx context.Context) error {
		return serving.HTTP(ctx, serving.Profiler(), listener)
	}))
}

// everyReplica runs in every replica, not in the leader alone.
type everyReplica func(context.Context) error

// Start runs the function.
func (f everyReplica) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection is false.
func (f everyReplica) NeedLeaderElection() bool { return false }
