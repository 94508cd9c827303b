package move

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// proxy gives clusterctl's library a client that connects through the seed, where the library
// expects a kubeconfig file. It gives one client for all objects, where the library would make one
// for each.
type proxy struct {
	config *rest.Config
	client client.Client
}

var _ cluster.Proxy = proxy{}

// requestTime bounds one request: a server that is gone must not hold up everything.
const requestTime = 30 * time.Second

var errUnused = errors.New("moving objects does not use this")

func newProxy(config *rest.Config, wrap func(client.Client) client.Client) (proxy, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha3.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return proxy{}, fmt.Errorf("preparing a client: %w", err)
		}
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.Timeout = -1, -1, requestTime
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return proxy{}, fmt.Errorf("preparing a client: %w", err)
	}
	return proxy{config, wrap(c)}, nil
}

// GetConfig implements cluster.Proxy.
func (p proxy) GetConfig() (*rest.Config, error) { return p.config, nil }

// NewClient implements cluster.Proxy.
func (p proxy) NewClient(context.Context) (client.Client, error) { return p.client, nil }

// ValidateKubernetesVersion implements cluster.Proxy: Slipway has chosen both.
func (proxy) ValidateKubernetesVersion() error { return nil }

// CheckClusterAvailable implements cluster.Proxy.
func (proxy) CheckClusterAvailable(context.Context) error { return nil }

// CurrentNamespace implements cluster.Proxy.
func (proxy) CurrentNamespace() (string, error) { return "", errUnused }

// ListResources implements cluster.Proxy.
func (proxy) ListResources(context.Context, map[string]string, ...string) ([]unstructured.Unstructured, error) {
	return nil, errUnused
}

// GetContexts implements cluster.Proxy.
func (proxy) GetContexts(string) ([]string, error) { return nil, errUnused }

// GetResourceNames implements cluster.Proxy.
func (proxy) GetResourceNames(context.Context, string, string, []client.ListOption, string) ([]string, error) {
	return nil, errUnused
}

// gate is passed before the library deletes the first object of the source. If it fails, it stays
// shut for all of them.
type gate struct {
	client.Client
	pass func() error
}

// Patch lets through the gate the mark of what is about to be deleted, which is the library's only
// JSON patch.
func (g gate) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	if patch.Type() == types.JSONPatchType {
		if err := g.pass(); err != nil {
			return err
		}
	}
	return g.Client.Patch(ctx, o, patch, options...)
}

// Delete goes through the gate.
func (g gate) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Client.Delete(ctx, o, options...)
}

// patient ends everything when writes have failed for a while: the library tries each object ten
// times, one after the other.
type patient struct {
	client.Client
	*failing
}

// failing is since when writes fail, by verb: an object whose deletion fails is patched
// successfully before each attempt.
type failing struct {
	mu       sync.Mutex
	since    map[string]time.Time
	patience time.Duration
	end      context.CancelCauseFunc
}

func newFailing(patience time.Duration, end context.CancelCauseFunc) *failing {
	return &failing{since: map[string]time.Time{}, patience: patience, end: end}
}

func (f *failing) note(verb string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, failed := f.since[verb]
	switch {
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err):
		delete(f.since, verb)
	case !failed:
		f.since[verb] = time.Now()
	case time.Since(since) > f.patience:
		f.end(err)
	}
	return err
}

// Create implements client.Client.
func (p patient) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return p.note("create", p.Client.Create(ctx, o, options...))
}

// Update implements client.Client.
func (p patient) Update(ctx context.Context, o client.Object, options ...client.UpdateOption) error {
	return p.note("update", p.Client.Update(ctx, o, options...))
}

// Patch implements client.Client.
func (p patient) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	return p.note("patch", p.Client.Patch(ctx, o, patch, options...))
}

// Delete implements client.Client.
func (p patient) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return p.note("delete", p.Client.Delete(ctx, o, options...))
}
