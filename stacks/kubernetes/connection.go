// Package kubernetes holds the resources of an environment on Kubernetes: k3s on the seed,
// Cluster API with its providers, clusters and controllers. It has one resource per file,
// like package openstack. Machines are reached over SSH, and their Kubernetes API through
// SSH, so that no other port must be open.
package kubernetes

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	p "github.com/pulumi/pulumi-go-provider"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Login is how the seed is reached.
type Login struct {
	// Address is the seed's address, without a port.
	Address string `pulumi:"address"`
	User    string `pulumi:"user"`
	// HostKey is the seed's public host key as a line of authorized_keys.
	HostKey string `pulumi:"hostKey"`
	// PrivateKey is the login key in OpenSSH's PEM format.
	PrivateKey string `pulumi:"privateKey" provider:"secret"`
	// Local are the LocalSettings, as JSON, of an environment whose seed is a local one;
	// the fields above are empty then.
	Local string `pulumi:"local,optional" provider:"secret"`
}

// The patience with a machine: cloud-init creates the user after sshd answers, and even
// without hardware acceleration a machine boots in a few minutes.
const (
	refused = 30 * time.Second
	silent  = 15 * time.Minute
)

func (l Login) open(ctx context.Context) (*remote.Machine, error) {
	target := remote.Target{Address: net.JoinHostPort(l.Address, "22"), User: l.User, HostKey: l.HostKey, Key: l.PrivateKey}
	return remote.Await(ctx, target, remote.Patience{Refused: refused, Silent: silent}, func(last error) { status(ctx, "waiting for SSH: "+last.Error()) })
}

// openNow connects without waiting for a booting machine: it is running or gone.
func (l Login) openNow(ctx context.Context) (*remote.Machine, error) {
	return remote.Open(ctx, remote.Target{Address: net.JoinHostPort(l.Address, "22"), User: l.User, HostKey: l.HostKey, Key: l.PrivateKey})
}

// status shows what a resource waits for.
func status(ctx context.Context, text string) { p.GetLogger(ctx).InfoStatus(text) }

// apiAddress is the address of the Kubernetes API on the seed itself.
const apiAddress = "127.0.0.1:6443"

// Reach connects to a Kubernetes API.
func Reach(m Way, kubeconfig string) (*kube.Cluster, error) {
	c, _, err := cluster(m, kubeconfig)
	return c, err
}

// cluster connects to a Kubernetes API.
func cluster(m Way, kubeconfig string) (*kube.Cluster, *rest.Config, error) {
	config, err := Through(m, kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	c, err := kube.New(config)
	return c, config, err
}

// Config returns the client configuration of a kubeconfig. An error ends every wait: asking
// again does not change the text.
func Config(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		return nil, vain.Certain(fmt.Errorf("reading the kubeconfig: %w", err))
	}
	kube.ExplainClock(config)
	return config, nil
}

// Through returns the client configuration of a kubeconfig, with connections by the way.
func Through(m Way, kubeconfig string) (*rest.Config, error) {
	config, err := Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	address, err := apiFor(m, config.Host)
	if err != nil {
		return nil, err
	}
	config.TLSClientConfig.ServerName = address.serverName
	config.Host = "https://" + address.dial
	config.Dial = m.DialContext
	return config, nil
}

// way is the address at which a machine reaches a Kubernetes API, and the server name to
// verify; an empty name means the host of the address.
type way struct{ dial, serverName string }

// apiFor returns how a machine reaches the API of a kubeconfig: its own over loopback,
// because its public address need not be reachable from itself; that of another cluster
// unchanged.
func apiFor(m Way, server string) (way, error) {
	u, err := url.Parse(server)
	if err != nil {
		return way{}, fmt.Errorf("reading the server's URL: %w", err)
	}
	if u.Hostname() == m.Host() {
		return way{dial: apiAddress}, nil
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return way{dial: net.JoinHostPort(u.Hostname(), port), serverName: u.Hostname()}, nil
}
