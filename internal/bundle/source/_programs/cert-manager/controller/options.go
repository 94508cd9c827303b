package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	config "github.com/cert-manager/cert-manager/internal/apis/config/controller"
	"github.com/cert-manager/cert-manager/pkg/controller"
	dnsutil "github.com/cert-manager/cert-manager/pkg/issuer/acme/dns/util"
)

// contextOptions is the configuration as the controllers take it.
func contextOptions(c *config.ControllerConfiguration) (controller.ContextOptions, error) {
	acme, err := acmeOptions(c)
	return controller.ContextOptions{
		APIServerHost:      c.APIServerHost,
		Kubeconfig:         c.KubeConfig,
		KubernetesAPIQPS:   c.KubernetesAPIQPS,
		KubernetesAPIBurst: c.KubernetesAPIBurst,
		Namespace:          c.Namespace,
		ACMEOptions:        acme,
		IssuerOptions: controller.IssuerOptions{
			ClusterResourceNamespace:        c.ClusterResourceNamespace,
			ClusterIssuerAmbientCredentials: c.ClusterIssuerAmbientCredentials,
			IssuerAmbientCredentials:        c.IssuerAmbientCredentials,
		},
		IngressShimOptions: controller.IngressShimOptions{
			DefaultIssuerName:                 c.IngressShimConfig.DefaultIssuerName,
			DefaultIssuerKind:                 c.IngressShimConfig.DefaultIssuerKind,
			DefaultIssuerGroup:                c.IngressShimConfig.DefaultIssuerGroup,
			DefaultAutoCertificateAnnotations: c.IngressShimConfig.DefaultAutoCertificateAnnotations,
			ExtraCertificateAnnotations:       c.IngressShimConfig.ExtraCertificateAnnotations,
			GatewayAPIExtraProtocols:          sets.New(c.GatewayAPIConfig.ExtraProtocols...),
		},
		CertificateOptions: controller.CertificateOptions{
			EnableOwnerRef:                           c.EnableCertificateOwnerRef,
			CopiedAnnotationPrefixes:                 c.CopiedAnnotationPrefixes,
			CertificateRequestMinimumBackoffDuration: c.CertificateRequestMinimumBackoffDuration,
			CertificateRequestMaximumBackoffDuration: c.CertificateRequestMaximumBackoffDuration,
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: c.MaxConcurrentChallenges},
		ConfigOptions: controller.ConfigOptions{
			EnableGatewayAPI:            c.GatewayAPIConfig.Enabled,
			EnableGatewayAPIListenerSet: c.GatewayAPIConfig.EnableListenerSet,
		},
	}, err
}

func acmeOptions(c *config.ControllerConfiguration) (controller.ACMEOptions, error) {
	http01, dns01 := &c.ACMEHTTP01Config, &c.ACMEDNS01Config
	options := controller.ACMEOptions{
		HTTP01SolverImage:            http01.SolverImage,
		ACMEHTTP01SolverRunAsNonRoot: http01.SolverRunAsNonRoot,
		HTTP01SolverRuntimeClassName: http01.SolverRuntimeClassName,
		HTTP01SolverNameservers:      http01.SolverNameservers,
		HTTP01SolverExtraLabels:      http01.SolverExtraLabels,
		DNS01CheckAuthoritative:      !dns01.RecursiveNameserversOnly,
		DNS01Nameservers:             dns01.RecursiveNameservers,
		DNS01CheckRetryPeriod:        dns01.CheckRetryPeriod,
	}
	if len(options.DNS01Nameservers) == 0 {
		options.DNS01Nameservers = dnsutil.RecursiveNameservers // those of the pod
	}
	for _, q := range []struct {
		name, text string
		into       *resource.Quantity
	}{
		{"CPU request", http01.SolverResourceRequestCPU, &options.HTTP01SolverResourceRequestCPU},
		{"memory request", http01.SolverResourceRequestMemory, &options.HTTP01SolverResourceRequestMemory},
		{"CPU limit", http01.SolverResourceLimitsCPU, &options.HTTP01SolverResourceLimitsCPU},
		{"memory limit", http01.SolverResourceLimitsMemory, &options.HTTP01SolverResourceLimitsMemory},
	} {
		quantity, err := resource.ParseQuantity(q.text)
		if err != nil {
			return options, fmt.Errorf("parsing %s %q of the HTTP-01 solver: %w", q.name, q.text, err)
		}
		*q.into = quantity
	}
	return options, nil
}
