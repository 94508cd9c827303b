// Package clusterctl gives Cluster API's clusterctl library the bundle's local
// repository in place of the releases on GitHub: nothing is fetched (row S-25).
package clusterctl

import (
	"context"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
)

// overridesFolder is clusterctl's variable for the folder whose files take
// precedence over the repository's.
const overridesFolder = "overridesFolder"

// New returns a clusterctl client whose providers and cert-manager are those of a bundle. Variables
// of the components, such as feature gates, come from variables only.
func New(ctx context.Context, folder *bundle.Folder, variables map[string]string) (client.Client, error) {
	configuration, err := Config(ctx, folder, variables)
	if err != nil {
		return nil, err
	}
	c, err := client.New(ctx, "", client.InjectConfig(configuration))
	if err != nil {
		return nil, fmt.Errorf("clusterctl client: %w", err)
	}
	return c, nil
}

// Config is the clusterctl configuration that points to a bundle.
func Config(ctx context.Context, folder *bundle.Folder, variables map[string]string) (config.Client, error) {
	versions := component.VersionsIn(folder.Bill())
	dir, err := filepath.Abs(filepath.Join(folder.Dir(), component.ProviderDir))
	if err != nil {
		return nil, err
	}
	reader := config.NewMemoryReader()
	for key, value := range variables {
		reader.Set(key, value)
	}
	if variables[overridesFolder] == "" {
		// Files of the user's own would otherwise take precedence.
		reader.Set(overridesFolder, filepath.Join(dir, "overrides"))
	}
	certManager, err := yaml.Marshal(map[string]string{
		"url":     filepath.Join(dir, "cert-manager", versions.CertManager, "cert-manager.yaml"),
		"version": versions.CertManager,
	})
	if err != nil {
		return nil, err
	}
	reader.Set(config.CertManagerConfigKey, string(certManager))
	for _, p := range component.Providers(versions) {
		url := filepath.Join(dir, p.Label, p.Version, p.File)
		if _, err := reader.AddProvider(p.Name, v1alpha3.ProviderType(p.Type), url); err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Label, err)
		}
	}
	c, err := config.New(ctx, "", config.InjectReader(reader))
	if err != nil {
		return nil, fmt.Errorf("clusterctl configuration: %w", err)
	}
	return c, nil
}

// InitOptions asks for exactly the providers in those versions, on the cluster
// of a kubeconfig file.
func InitOptions(versions component.Versions, kubeconfig string) client.InitOptions {
	o := client.InitOptions{Kubeconfig: client.Kubeconfig{Path: kubeconfig}, WaitProviders: true}
	for _, p := range component.Providers(versions) {
		name := p.Name + ":" + p.Version
		switch v1alpha3.ProviderType(p.Type) {
		case v1alpha3.CoreProviderType:
			o.CoreProvider = name
		case v1alpha3.BootstrapProviderType:
			o.BootstrapProviders = append(o.BootstrapProviders, name)
		case v1alpha3.ControlPlaneProviderType:
			o.ControlPlaneProviders = append(o.ControlPlaneProviders, name)
		case v1alpha3.InfrastructureProviderType:
			o.InfrastructureProviders = append(o.InfrastructureProviders, name)
		}
	}
	return o
}
