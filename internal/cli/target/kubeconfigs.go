package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// Kubeconfigs are the paths of kubeconfig files, by cluster; empty means none.
type Kubeconfigs struct {
	Seed       string `json:"seed,omitempty"`
	Management string `json:"management,omitempty"`
	// Token is the kubeconfig of the management cluster with a token.
	Token string `json:"token,omitempty"`
}

// kubeconfigsIn returns the paths in the folder of secrets, whether or not they
// exist.
func kubeconfigsIn(loaded *config.Loaded) Kubeconfigs {
	dir := loaded.SecretsDir()
	return Kubeconfigs{Seed: filepath.Join(dir, "seed.kubeconfig"), Management: filepath.Join(dir, "management.kubeconfig")}
}

// WriteKubeconfigs writes the kubeconfigs of the state into the folder of secrets,
// with mode 0600, and returns their paths.
func (t *Target) WriteKubeconfigs(ctx context.Context) (Kubeconfigs, error) {
	seed, err := t.Seed(ctx)
	if err != nil {
		return Kubeconfigs{}, err
	}
	paths := kubeconfigsIn(t.Loaded)
	for text, path := range map[string]*string{seed.Kubeconfig: &paths.Seed, seed.Management: &paths.Management} {
		if text == "" {
			*path = ""
			continue
		}
		if err := WriteSecret(*path, text); err != nil {
			return paths, fmt.Errorf("writing kubeconfig %s: %w", *path, err)
		}
	}
	paths.Token, err = WriteTokenKubeconfig(ctx, seed, t.Loaded, false)
	return paths, err
}

// MagnumCA is the file of the CA certificates by which clients trust the Magnum
// API, and the cloud if it has a CA of its own.
func (t *Target) MagnumCA() string { return filepath.Join(t.SecretsDir(), "magnum-ca.pem") }

// ConsoleCA is the file of the CA certificate by which browsers trust the tenants' console.
func (t *Target) ConsoleCA() string { return filepath.Join(t.SecretsDir(), "console-ca.pem") }

// WriteServices writes the CAs of the Magnum API and of the tenants' console into
// MagnumCA and ConsoleCA, and returns how both are reached; what is not there is empty.
func (t *Target) WriteServices(ctx context.Context) (Services, error) {
	resources, err := t.Engine.Resources(ctx)
	if err != nil {
		return Services{}, err
	}
	s := servicesOf(resources)
	if s.Magnum.URL != "" && s.Magnum.authority != "" {
		cloudCA, err := read(t.Environment.Spec.CABundle)
		if err != nil {
			return s, err
		}
		s.Magnum.CAFile = t.MagnumCA()
		if err := WriteSecret(s.Magnum.CAFile, pems(s.Magnum.authority, cloudCA)); err != nil {
			return s, err
		}
	}
	if s.Console.authority != "" {
		s.Console.CAFile = t.ConsoleCA()
		return s, WriteSecret(s.Console.CAFile, s.Console.authority)
	}
	return s, nil
}

// Services are how the services on the management cluster are reached.
type Services struct{ Magnum, Console Service }

// Service is how one is reached.
type Service struct {
	URL       string `json:"url,omitempty"`
	CAFile    string `json:"caFile,omitempty"`
	authority string
}

// servicesOf is what the state says of them.
func servicesOf(resources []engine.Resource) Services {
	s := Services{}
	for _, r := range resources {
		switch r.Name {
		case stacks.StepMagnumCatalog:
			s.Magnum.URL = r.Text("url")
		case stacks.StepMagnumTemplates: // an API behind another one is in no catalog
			s.Magnum.URL = cmp.Or(s.Magnum.URL, r.Text("endpoint"))
		case stacks.StepMagnum:
			s.Magnum.authority = r.Text("authority")
		case stacks.StepConsole:
			s.Console.URL, s.Console.authority = r.Text("url"), r.Text("authority")
		}
	}
	return s
}

// RemoveKubeconfigs removes what WriteKubeconfigs wrote, when the clusters are
// gone.
func (t *Target) RemoveKubeconfigs() error {
	paths := kubeconfigsIn(t.Loaded)
	for _, path := range []string{paths.Seed, paths.Management, tokenFile(t.Loaded), t.MagnumCA(), t.ConsoleCA()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// WriteSecret writes a file with mode 0600, as [ui.WriteFile].
func WriteSecret(path, text string) error {
	return ui.WriteFile(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
