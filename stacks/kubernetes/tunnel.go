package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Tunnel returns the kubeconfig for programs on this computer: its server is a port of the
// loopback interface that leads to the API through the machine, until ctx ends. The server's
// certificate is verified as before.
func Tunnel(ctx context.Context, m Way, kubeconfig string) (string, error) {
	file, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		return "", errors.New("reading the kubeconfig: it is no YAML of one") // the library's error could quote it
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil || file.Clusters[current.Cluster] == nil {
		return "", errors.New("the kubeconfig has no current context with a cluster")
	}
	cluster := file.Clusters[current.Cluster]
	address, err := apiFor(m, cluster.Server)
	if err != nil {
		return "", err
	}
	local, err := m.Forward(ctx, address.dial)
	if err != nil {
		return "", err
	}
	cluster.Server = "https://" + local.String()
	if cluster.TLSServerName == "" {
		cluster.TLSServerName = address.serverName
	}
	file.Clusters = map[string]*clientcmdapi.Cluster{current.Cluster: cluster} // others do not lead through the tunnel
	file.Contexts = map[string]*clientcmdapi.Context{file.CurrentContext: current}
	text, err := clientcmd.Write(*file)
	if err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return string(text), nil
}
