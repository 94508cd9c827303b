package clusterctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
)

// ORC is the name of the resource controller in settings: clusterctl does not know it as a
// provider, but CAPO needs it.
const ORC = "openstack-resource-controller"

// Installation puts cert-manager, Cluster API, its providers and ORC on a
// cluster. It may be run again at any point.
type Installation struct {
	Bundle *bundle.Folder
	// Cluster is the cluster to install on; Kubeconfig is the path of a kubeconfig for it, which
	// the clusterctl library needs.
	Cluster    *kube.Cluster
	Kubeconfig string
	// Settings are by the label of the provider, such as "cluster-api", or by ORC.
	Settings map[string]Settings
	// TrustBundle has PEM certificates that cert-manager trusts besides the system's: those of
	// issuers.
	TrustBundle string
	// Environment are variables of all controllers, such as those of a proxy.
	Environment map[string]string
	// Alone means that the cluster always has a single node, as a seed does: its controllers hold
	// no lease.
	Alone bool
	// Progress receives what is waited for; it may be nil.
	Progress func(string)
}

// orcManifest is the path of ORC's manifest in a bundle.
const orcManifest = "manifests/openstack-resource-controller.yaml"

// Run installs everything and returns when all controllers are available.
//
// `clusterctl init` does the same one object after the other. Here, objects that do not depend on
// each other are applied at the same time, which halves the time on a small machine. The records
// that clusterctl keeps about its providers are written as clusterctl does, so that its own
// commands keep working.
func (i Installation) Run(ctx context.Context) error {
	p, err := i.parts(ctx)
	if err != nil {
		return err
	}
	if err := p.migrate(ctx); err != nil {
		return err
	}
	group, making := errgroup.WithContext(ctx)
	work := &work{objects: len(p.certManager) + len(p.orc) + len(p.objects) + len(p.late), tell: i.Progress}
	for _, objects := range [][]*unstructured.Unstructured{p.certManager, p.orc, p.objects} {
		group.Go(func() error { return i.Cluster.ApplyEach(making, objects, work.progress()) })
	}
	for _, late := range p.late {
		group.Go(func() error { return late.start(making, i.Cluster, p.objects, work) })
	}
	group.Go(func() error { return i.Cluster.WaitAvailable(making, p.deployments(), work.waits) })
	if err := group.Wait(); err != nil {
		return err
	}
	if err := i.Monitor(ctx); err != nil {
		return err
	}
	return p.note(ctx)
}

// migrate prepares the existing objects for the definitions of the parts.
func (p parts) migrate(ctx context.Context) error {
	c, err := p.proxy.NewClient(ctx)
	if err != nil {
		return fmt.Errorf("connecting for the migration of stored objects: %w", err)
	}
	return Migrate(ctx, c, slices.Concat(p.certManager, p.orc, p.objects))
}

// note writes the inventory of providers. As with clusterctl, they are in it once everything is
// installed.
func (p parts) note(ctx context.Context) error {
	if err := p.inventory.EnsureCustomResourceDefinitions(ctx); err != nil {
		return fmt.Errorf("creating the provider inventory: %w", err)
	}
	for _, provider := range p.providers {
		if err := p.inventory.Create(ctx, provider); err != nil {
			return fmt.Errorf("recording provider %s: %w", provider.Name, err)
		}
	}
	return nil
}

// parts is what is installed.
type parts struct {
	certManager, orc []*unstructured.Unstructured
	// objects are those of the providers, without late.
	objects   []*unstructured.Unstructured
	late      []lateDeployment
	inventory cluster.InventoryClient
	proxy     cluster.Proxy
	providers []v1alpha3.Provider
}

// lateDeployment mounts secrets that cert-manager creates. If it were created before them, its pods
// would wait until the kubelet checks again, up to half a minute.
type lateDeployment struct {
	deployment *unstructured.Unstructured
	secrets    []string
}

// start applies the Deployment once its secrets exist and the definitions among the objects are
// served.
func (l lateDeployment) start(ctx context.Context, on *kube.Cluster, objects []*unstructured.Unstructured, work *work) error {
	if err := on.AwaitSecrets(ctx, l.deployment.GetNamespace(), l.secrets); err != nil {
		return err
	}
	if err := on.AwaitServed(ctx, objects, work.serves); err != nil {
		return err
	}
	return on.ApplyEach(ctx, []*unstructured.Unstructured{l.deployment}, work.progress())
}

func (p parts) deployments() []types.NamespacedName {
	all := slices.Concat(p.certManager, p.orc, p.objects)
	for _, late := range p.late {
		all = append(all, late.deployment)
	}
	return deploymentsIn(all)
}

// split moves the late Deployments out of the objects.
func (p *parts) split() {
	issued := map[string]bool{}
	for _, object := range p.objects {
		if object.GetKind() == "Certificate" {
			name, _, _ := unstructured.NestedString(object.Object, "spec", "secretName")
			issued[object.GetNamespace()+"/"+name] = true
		}
	}
	p.objects = slices.DeleteFunc(p.objects, func(object *unstructured.Unstructured) bool {
		late := lateDeployment{deployment: object}
		volumes, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "volumes")
		for _, volume := range volumes {
			name, _, _ := unstructured.NestedString(volume.(map[string]any), "secret", "secretName")
			if issued[object.GetNamespace()+"/"+name] {
				late.secrets = append(late.secrets, name)
			}
		}
		if len(late.secrets) > 0 {
			p.late = append(p.late, late)
		}
		return len(late.secrets) > 0
	})
}

// autoscaleFromZero is the variable of CAPO's components for the feature gate AutoScaleFromZero:
// with it, CAPO writes into a machine template's status which resources a machine of it would have.
// Otherwise, the cluster-autoscaler leaves a group alone that has no machine (row F79).
const autoscaleFromZero = "EXP_CAPO_AUTOSCALE_FROM_ZERO"

// parts reads the bundle, through clusterctl for its providers, and applies the settings.
func (i Installation) parts(ctx context.Context) (parts, error) {
	var p parts
	versions := component.VersionsIn(i.Bundle.Bill())
	overrides, err := os.MkdirTemp("", "slipway-providers-")
	if err != nil {
		return p, fmt.Errorf("preparing the providers: %w", err)
	}
	defer os.RemoveAll(overrides)
	if err := i.override(overrides, versions); err != nil {
		return p, err
	}
	configuration, err := Config(ctx, i.Bundle, map[string]string{overridesFolder: overrides, autoscaleFromZero: "true"})
	if err != nil {
		return p, err
	}
	library, err := client.New(ctx, "", client.InjectConfig(configuration))
	if err != nil {
		return p, fmt.Errorf("clusterctl client: %w", err)
	}
	at := cluster.New(cluster.Kubeconfig{Path: i.Kubeconfig}, configuration)
	p.inventory, p.proxy = at.ProviderInventory(), at.Proxy()
	for _, provider := range component.Providers(versions) {
		components, err := library.GetProviderComponents(ctx, provider.Name, v1alpha3.ProviderType(provider.Type), client.ComponentsOptions{Version: provider.Version})
		if err != nil {
			return p, fmt.Errorf("reading the components of %s: %w", provider.Label, err)
		}
		for _, object := range components.Objs() {
			p.objects = append(p.objects, &object)
		}
		p.providers = append(p.providers, components.InventoryObject())
	}
	if err := serveMetrics(p.objects); err != nil {
		return p, err
	}
	certManager, orc, err := i.others(versions)
	if err != nil {
		return p, err
	}
	p.certManager, p.orc = certManager, orc
	all := slices.Concat(p.certManager, p.orc, p.objects)
	if err := dropUnserved(all); err != nil {
		return p, err
	}
	if err := setProbes(all); err != nil {
		return p, err
	}
	if i.Alone {
		if err := withoutLeases(all); err != nil {
			return p, err
		}
	}
	if err := setVariables(all, i.Environment); err != nil {
		return p, err
	}
	p.split()
	return p, nil
}

// override writes the components that settings change to where clusterctl looks first.
func (i Installation) override(dir string, versions component.Versions) error {
	for _, provider := range component.Providers(versions) {
		if i.Settings[provider.Label].empty() {
			continue
		}
		path := filepath.Join(provider.Label, provider.Version, provider.File)
		text, err := i.read(filepath.Join(component.ProviderDir, path), provider.Label)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("preparing the providers: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("preparing the providers: %w", err)
		}
	}
	return nil
}

// others are cert-manager, with the marks of what clusterctl installs, and ORC.
func (i Installation) others(versions component.Versions) (certManager, orc []*unstructured.Unstructured, err error) {
	text, err := i.read(filepath.Join(component.ProviderDir, "cert-manager", versions.CertManager, "cert-manager.yaml"), "cert-manager")
	if err != nil {
		return nil, nil, err
	}
	certManager, err = kube.Decode(strings.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("components of cert-manager: %w", err)
	}
	for _, object := range certManager {
		mark(object, versions.CertManager)
	}
	if certManager, err = trust(certManager, i.TrustBundle); err != nil {
		return nil, nil, fmt.Errorf("trusted certificates of cert-manager: %w", err)
	}
	if text, err = i.read(orcManifest, ORC); err != nil {
		return nil, nil, err
	}
	orc, err = kube.Decode(strings.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("components of %s: %w", ORC, err)
	}
	return certManager, orc, nil
}

// mark adds the labels and the annotation by which clusterctl recognizes its cert-manager
// (cert_manager.go of clusterctl).
func mark(object *unstructured.Unstructured, version string) {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[v1alpha3.ClusterctlLabel] = ""
	labels[v1alpha3.ClusterctlCoreLabel] = v1alpha3.ClusterctlCoreLabelCertManagerValue
	annotations[v1alpha3.CertManagerVersionAnnotation] = version
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
}

// read reads components from the bundle, with the settings of their name.
func (i Installation) read(path, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(i.Bundle.Dir(), path))
	if err != nil {
		return "", fmt.Errorf("reading the components of %s: %w", name, err)
	}
	changed, err := Override(string(text), i.Settings[name])
	if err != nil {
		return "", fmt.Errorf("changing the components of %s: %w", name, err)
	}
	return changed, nil
}

func deploymentsIn(objects []*unstructured.Unstructured) []types.NamespacedName {
	var names []types.NamespacedName
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			names = append(names, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})
		}
	}
	return names
}

// webhookTime is how long webhooks may take to answer after their controllers are available: the
// authority that they present is injected independently. That takes a second on a usual cloud, and
// more than half a minute on emulated machines.
const webhookTime = 5 * time.Minute

// Answering waits until the webhooks of Cluster API answer: it creates a Cluster in a dry run.
func (i Installation) Answering(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, webhookTime, errors.New("the webhooks did not answer in time"))
	defer cancel()
	return i.Cluster.TryCreate(ctx, []byte(probe))
}

// probe is a Cluster that is never created.
const probe = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: slipway-probe, namespace: default}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: slipway-probe}
`
