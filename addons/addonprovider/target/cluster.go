// Package target has the clients of the clusters that addons are installed on: one set per cluster,
// made from its kubeconfig without a file, and kept until the kubeconfig changes.
package target

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Cluster is a target cluster.
type Cluster struct {
	// Config makes further clients; they share connections.
	Config   *rest.Config
	Typed    kubernetes.Interface
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// Mapper learns of new kinds when it is asked for them.
	Mapper meta.RESTMapper

	transport *http.Transport
}

// Connect returns the clients for a kubeconfig. It sends nothing. It refuses a kubeconfig that
// would run programs or read files here: permission to write one does not include permission to act
// as this program.
func Connect(kubeconfig []byte, timeout time.Duration) (*Cluster, error) {
	return connect(kubeconfig, timeout, nil)
}

func connect(kubeconfig []byte, timeout time.Duration, wrap transport.WrapperFunc) (*Cluster, error) {
	parsed, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	if err := harmless(parsed); err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	if wrap != nil {
		config.Wrap(wrap)
	}
	return New(config, timeout)
}

func harmless(config *clientcmdapi.Config) error {
	for name, user := range config.AuthInfos {
		switch {
		case user.Exec != nil, user.AuthProvider != nil:
			return fmt.Errorf("user %s runs a program", name)
		case user.ClientCertificate != "", user.ClientKey != "", user.TokenFile != "":
			return fmt.Errorf("user %s reads a file", name)
		}
	}
	for name, cluster := range config.Clusters {
		if cluster.CertificateAuthority != "" {
			return fmt.Errorf("cluster %s reads a file", name)
		}
	}
	return nil
}

// New returns the clients for a configuration. timeout bounds a single request.
func New(config *rest.Config, timeout time.Duration) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = timeout
	config.UserAgent = "slipway-addon-provider"
	config.QPS, config.Burst = 50, 100
	config.WarningHandler = rest.NoWarnings{} // of charts' old APIs: nobody reads them here
	own, err := ownTransport(config)
	if err != nil {
		return nil, err
	}
	config.Transport = own
	config.TLSClientConfig = rest.TLSClientConfig{}
	c := &Cluster{Config: config, transport: own}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making clients of a cluster: %w", err)
	}
	if c.Typed, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("making clients of a cluster: %w", err)
	}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("making clients of a cluster: %w", err)
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), client); err != nil {
		return nil, fmt.Errorf("making clients of a cluster: %w", err)
	}
	if c.Mapper, err = apiutil.NewDynamicRESTMapper(config, client); err != nil {
		return nil, fmt.Errorf("making clients of a cluster: %w", err)
	}
	return c, nil
}

// ownTransport is a transport of this cluster alone, because client-go keeps its own transports for
// ever.
func ownTransport(config *rest.Config) (*http.Transport, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("making clients of a cluster: %w", err)
	}
	proxy := config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return &http.Transport{
		Proxy: proxy, TLSClientConfig: tls, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second,
		// Else a watch would last on a connection whose other end is gone.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}, nil
}

// Close ends idle connections; requests in progress continue.
func (c *Cluster) Close() { c.transport.CloseIdleConnections() }
