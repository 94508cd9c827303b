package localseed

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"sigs.k8s.io/yaml"
)

// server reads from a kubeconfig where its API server is, and how it is trusted.
func server(kubeconfig string) (url string, transport *http.Transport, err error) {
	var file struct {
		Clusters []struct {
			Cluster struct {
				Server    string `json:"server"`
				Authority []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := yaml.Unmarshal([]byte(kubeconfig), &file); err != nil {
		return "", nil, errors.New("reading the kubeconfig: it is no YAML") // the library's error could quote keys
	}
	if len(file.Clusters) != 1 {
		return "", nil, fmt.Errorf("reading the kubeconfig: it names %d clusters", len(file.Clusters))
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(file.Clusters[0].Cluster.Authority) {
		return "", nil, errors.New("reading the kubeconfig: it has no certificate authority")
	}
	return file.Clusters[0].Cluster.Server, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}, nil
}
