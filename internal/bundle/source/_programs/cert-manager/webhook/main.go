// webhook is the admission webhook of cert-manager: it validates the resources
// and notes who asked for a certificate.
package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	config "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/apis/config/webhook/validation"
	"github.com/cert-manager/cert-manager/internal/webhook"
	_ "github.com/cert-manager/cert-manager/internal/webhook/feature" // registers the feature gates
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/configfile"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
	"github.com/cert-manager/cert-manager/slipway/command"
	"github.com/cert-manager/cert-manager/slipway/settings"
)

func main() {
	command.Main("webhook", newCommand)
}

func newCommand() (*cobra.Command, error) {
	cfg, err := options.NewWebhookConfiguration()
	if err != nil {
		return nil, err
	}
	file := configfile.New()
	s := &settings.Settings{
		Flags:    func(fs *pflag.FlagSet) { options.AddConfigFlags(fs, cfg) },
		File:     file,
		Adopt:    func() { file.Config.DeepCopyInto(cfg) },
		Validate: func() field.ErrorList { return validation.ValidateWebhookConfiguration(cfg, nil) },
		Logging:  &cfg.Logging,
		Gates:    &cfg.FeatureGates,
	}
	return s.Command("webhook", "Admission webhook of cert-manager.", func(ctx context.Context) error {
		return run(ctx, cfg)
	}), nil
}

func run(ctx context.Context, cfg *config.WebhookConfiguration) error {
	log := logf.FromContext(ctx)
	ctrl.SetLogger(log)
	server, err := webhook.NewCertManagerWebhookServer(log, *cfg)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
