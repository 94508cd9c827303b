// Package release changes Helm releases on target clusters with the Helm SDK in process: no helm
// program, no kubeconfig on disk, waits that can be cancelled and that say what they wait for.
package release

import (
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// getter gives the SDK the clients of a cluster. What it learns about the cluster's kinds is kept
// for one change only, so that new kinds are seen.
type getter struct {
	config    *rest.Config
	namespace string
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.ResettableRESTMapper
}

func newGetter(cluster *target.Cluster, namespace string) *getter {
	cached := memory.NewMemCacheClient(cluster.Typed.Discovery())
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return strict{next} })
	return &getter{config, namespace, cached, restmapper.NewDeferredDiscoveryRESTMapper(cached)}
}

func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, overrides)
}

// strict asks the server to refuse unknown fields
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation). The SDK by
// itself does so only after downloading the server's whole schema.
type strict struct{ next http.RoundTripper }

func (s strict) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		request = request.Clone(request.Context())
		query := request.URL.Query()
		query.Set("fieldValidation", "Strict")
		request.URL.RawQuery = query.Encode()
	}
	return s.next.RoundTrip(request)
}

// forget drops what is known about the cluster's kinds.
func (g *getter) forget() {
	g.discovery.Invalidate()
	g.mapper.Reset()
}
