// controller is the part of cert-manager that issues and renews certificates.
package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"

	config "github.com/cert-manager/cert-manager/internal/apis/config/controller"
	"github.com/cert-manager/cert-manager/internal/apis/config/controller/scheme"
	"github.com/cert-manager/cert-manager/internal/apis/config/controller/validation"
	"github.com/cert-manager/cert-manager/pkg/apis/config/controller/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/controller/configfile"
	"github.com/cert-manager/cert-manager/slipway/command"
	"github.com/cert-manager/cert-manager/slipway/settings"

	// The issuers register themselves. The controllers do so too; the package
	// of their names, see enabled.go, links them in.
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/vault"
)

func main() {
	refuseVenafi()
	command.Main("controller", newCommand)
}

func newCommand() (*cobra.Command, error) {
	cfg, err := defaultConfiguration()
	if err != nil {
		return nil, err
	}
	file := configfile.New()
	s := &settings.Settings{
		Flags:    func(fs *pflag.FlagSet) { bindFlags(fs, cfg) },
		File:     file,
		Adopt:    func() { file.Config.DeepCopyInto(cfg) },
		Validate: func() field.ErrorList { return validation.ValidateControllerConfiguration(cfg, nil) },
		Logging:  &cfg.Logging,
		Gates:    &cfg.FeatureGates,
	}
	return s.Command("controller", "Certificate controller of cert-manager.", func(ctx context.Context) error {
		return run(ctx, cfg)
	}), nil
}

func defaultConfiguration() (*config.ControllerConfiguration, error) {
	scheme, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	versioned, cfg := &v1alpha1.ControllerConfiguration{}, &config.ControllerConfiguration{}
	scheme.Default(versioned)
	return cfg, scheme.Convert(versioned, cfg, nil)
}
