package clusterctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"

	"github.com/slipway-sh/slipway/addons"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/kube"
)

// ORC is the name of the resource controller in settings: it is no provider of
// clusterctl's, but CAPO needs it.
const ORC = "openstack-resource-controller"

// Installation puts cert-manager, Cluster API, its providers and ORC on a
// cluster. It may be run again at any point.
type Installation struct {
	Bundle *bundle.Folder
	// Cluster is where to; Kubeconfig is the path of a file that leads there
	// too, which the clusterctl library wants.
	Cluster    *kube.Cluster
	Kubeconfig string
	// Settings by the label of the provider, such as "cluster-api", or ORC.
	Settings map[string]Settings
	// Progress is told what is waited for; nil is nobody.
	Progress func(string)
}

// orcManifest is ORC's place in a bundle.
const orcManifest = "manifests/openstack-resource-controller.yaml"

// Run installs what is missing and returns when all controllers are available.
func (i Installation) Run(ctx context.Context) error {
	parts, err := i.parts(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return i.Cluster.Apply(ctx, []byte(parts.orc)) })
	group.Go(func() error { return i.providers(ctx, parts) })
	group.Go(func() error {
		// Beside the installation: clusterctl waits for cert-manager without
		// looking at causes, and a hopeless one ends its wait too.
		return i.Cluster.WaitAvailable(ctx, parts.deployments, i.Progress)
	})
	return group.Wait()
}

// parts is what is installed.
type parts struct {
	orc         string
	overrides   map[string]string // by path below clusterctl's overrides folder
	deployments []types.NamespacedName
}

// parts reads the bundle and applies the settings.
func (i Installation) parts(context.Context) (parts, error) {
	versions := addons.VersionsIn(i.Bundle.Bill())
	p := parts{overrides: map[string]string{}}
	files := map[string]string{"cert-manager": filepath.Join(addons.ProviderDir, "cert-manager", versions.CertManager, "cert-manager.yaml"), ORC: orcManifest}
	names := []string{"cert-manager", ORC}
	for _, provider := range addons.Providers(versions) {
		files[provider.Label] = filepath.Join(addons.ProviderDir, provider.Label, provider.Version, provider.File)
		names = append(names, provider.Label)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(i.Bundle.Dir(), files[name]))
		if err != nil {
			return p, fmt.Errorf("reading the components of %s: %w", name, err)
		}
		changed, err := Override(string(text), i.Settings[name])
		if err != nil {
			return p, fmt.Errorf("changing the components of %s: %w", name, err)
		}
		deployments, err := deploymentsIn(changed)
		if err != nil {
			return p, fmt.Errorf("components of %s: %w", name, err)
		}
		p.deployments = append(p.deployments, deployments...)
		switch {
		case name == ORC:
			p.orc = changed
		case changed != string(text):
			p.overrides[strings.TrimPrefix(files[name], addons.ProviderDir+"/")] = changed
		}
	}
	return p, nil
}

func deploymentsIn(manifest string) ([]types.NamespacedName, error) {
	objects, err := kube.Decode(bytes.NewReader([]byte(manifest)))
	if err != nil {
		return nil, err
	}
	var names []types.NamespacedName
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			names = append(names, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})
		}
	}
	return names, nil
}

// providers runs `clusterctl init` for the providers that are not there.
func (i Installation) providers(ctx context.Context, p parts) error {
	overrides, err := os.MkdirTemp("", "slipway-providers-")
	if err != nil {
		return fmt.Errorf("preparing the providers: %w", err)
	}
	defer os.RemoveAll(overrides)
	for path, text := range p.overrides {
		file := filepath.Join(overrides, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("preparing the providers: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("preparing the providers: %w", err)
		}
	}
	library, err := New(ctx, i.Bundle, map[string]string{overridesFolder: overrides})
	if err != nil {
		return err
	}
	there, err := i.installed(ctx)
	if err != nil {
		return err
	}
	options := without(InitOptions(addons.VersionsIn(i.Bundle.Bill()), i.Kubeconfig), there)
	if options == nil {
		return nil
	}
	if _, err := library.Init(ctx, *options); err != nil {
		return fmt.Errorf("installing the providers: %w", err)
	}
	return nil
}

// installed lists the providers in clusterctl's inventory, by name.
func (i Installation) installed(ctx context.Context) (map[string]bool, error) {
	resource := schema.GroupVersionResource{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Resource: "providers"}
	list, err := i.Cluster.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if kube.Absent(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing providers: %w", err)
	}
	there := map[string]bool{}
	for _, item := range list.Items {
		there[item.GetName()] = true
	}
	return there, nil
}

// without leaves out the providers that are there; nil means all are. They
// are in the inventory only when all of their objects were made.
func without(o client.InitOptions, there map[string]bool) *client.InitOptions {
	o.WaitProviders = false
	keep := func(list []string, prefix string) []string {
		var left []string
		for _, name := range list {
			short, _, _ := strings.Cut(name, ":")
			if !there[prefix+short] {
				left = append(left, name)
			}
		}
		return left
	}
	core := keep([]string{o.CoreProvider}, "")
	o.BootstrapProviders = keep(o.BootstrapProviders, "bootstrap-")
	o.ControlPlaneProviders = keep(o.ControlPlaneProviders, "control-plane-")
	o.InfrastructureProviders = keep(o.InfrastructureProviders, "infrastructure-")
	if len(core) == 0 {
		o.CoreProvider = ""
	}
	if len(core)+len(o.BootstrapProviders)+len(o.ControlPlaneProviders)+len(o.InfrastructureProviders) == 0 {
		return nil
	}
	// Empty lists mean the defaults only while there is no core provider yet.
	return &o
}

// webhookTime is how long webhooks may take to answer after their controllers
// are available: the authority that they present is injected beside.
const webhookTime = 30 * time.Second

// Answering waits until the webhooks of Cluster API take part: a Cluster is
// created for show only.
func (i Installation) Answering(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, webhookTime, errors.New("the webhooks do not answer"))
	defer cancel()
	return i.Cluster.TryCreate(ctx, []byte(probe))
}

// probe is a Cluster that is never made.
const probe = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: slipway-probe, namespace: default}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: slipway-probe}
`
