// Package kubernetes is what an environment has on Kubernetes: k3s on the seed,
// and Cluster API with its providers. One resource a file, as in package
// openstack. Machines are reached by SSH, their Kubernetes API through it, so
// that nothing depends on which ports are open to whom.
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
)

// Login is how the seed is reached.
type Login struct {
	// Address is the seed's, without a port.
	Address string `pulumi:"address"`
	User    string `pulumi:"user"`
	// HostKey is the seed's public host key as a line of authorized_keys.
	HostKey string `pulumi:"hostKey"`
	// PrivateKey logs in; OpenSSH's PEM.
	PrivateKey string `pulumi:"privateKey" provider:"secret"`
}

// The patience with a machine: cloud-init makes the user after sshd answers, and
// also without acceleration of the processor one has booted in a few minutes.
const (
	refused = 30 * time.Second
	silent  = 15 * time.Minute
)

func (l Login) open(ctx context.Context) (*remote.Machine, error) {
	target := remote.Target{Address: net.JoinHostPort(l.Address, "22"), User: l.User, HostKey: l.HostKey, Key: l.PrivateKey}
	return remote.Await(ctx, target, remote.Patience{Refused: refused, Silent: silent}, func(last error) { status(ctx, "waiting for SSH: "+last.Error()) })
}

// openNow opens without waiting for a machine that comes up: it is there, or it
// is gone.
func (l Login) openNow(ctx context.Context) (*remote.Machine, error) {
	return remote.Open(ctx, remote.Target{Address: net.JoinHostPort(l.Address, "22"), User: l.User, HostKey: l.HostKey, Key: l.PrivateKey})
}

// status shows what a resource waits for.
func status(ctx context.Context, text string) { p.GetLogger(ctx).InfoStatus(text) }

// apiAddress is where the seed serves its Kubernetes API for itself.
const apiAddress = "127.0.0.1:6443"

// Reach is the seed's Kubernetes, reached through the machine.
func Reach(m *remote.Machine, kubeconfig string) (*kube.Cluster, error) {
	c, _, err := cluster(m, kubeconfig)
	return c, err
}

// cluster is the seed's Kubernetes, reached through the machine.
func cluster(m *remote.Machine, kubeconfig string) (*kube.Cluster, *rest.Config, error) {
	config, err := Through(m, kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	c, err := kube.New(config)
	return c, config, err
}

// Through is the client configuration of a kubeconfig whose connections go
// through the machine.
func Through(m *remote.Machine, kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
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

// way is where a machine dials to for a Kubernetes API, and whom it must find
// there; no name is the one that is dialled.
type way struct{ dial, serverName string }

// apiFor is the way from a machine to the API that a kubeconfig names: its own
// by loopback, for its outer address need not lead to itself; that of another
// cluster as it is.
func apiFor(m *remote.Machine, server string) (way, error) {
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
