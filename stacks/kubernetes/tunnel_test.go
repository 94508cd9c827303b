package kubernetes

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// seedWay is a machine that reaches an API server which this computer does not.
type seedWay struct {
	Direct
	host, asked string
	far         string
}

func (w *seedWay) Host() string { return w.host }

func (w *seedWay) Forward(_ context.Context, address string) (net.Addr, error) {
	w.asked = address
	return plain(w.far), nil
}

// TestTunnel has a client of this computer talk to an API server at an address that only the
// seed reaches, and verify its certificate for that address.
//
// proves: F41
func TestTunnel(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"major": "1", "minor": "34", "gitVersion": "v1.34.4"}`))
	}))
	defer server.Close()
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	kubeconfig := func(host string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}, {name: d, context: {cluster: d, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: 'https://" + host + "', certificate-authority-data: " + authority + "}}, {name: d, cluster: {server: 'https://elsewhere'}}]\nusers: [{name: u, user: {token: t}}]\n"
	}
	far := strings.TrimPrefix(server.URL, "https://")
	for name, test := range map[string]struct{ server, asked, failure string }{
		// httptest's certificate is for example.com and for loopback, as the seed's is.
		"the management cluster": {"example.com:6443", "example.com:6443", ""},
		"without a port":         {"example.com", "example.com:443", ""},
		"the seed's own":         {"192.0.2.5:6443", "127.0.0.1:6443", ""},
		"another's certificate":  {"other.test:6443", "other.test:6443", "other.test"},
	} {
		w := &seedWay{host: "192.0.2.5", far: far}
		text, err := Tunnel(t.Context(), w, kubeconfig(test.server))
		if err != nil || w.asked != test.asked || strings.Contains(text, "elsewhere") {
			t.Errorf("%s: asked for %s, %v\n%s", name, w.asked, err, text)
			continue
		}
		config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		version, err := client.Discovery().ServerVersion()
		switch {
		case test.failure == "" && (err != nil || version.GitVersion != "v1.34.4"):
			t.Errorf("%s: %v, %v", name, version, err)
		case test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)):
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, broken := range []string{"", "token: [secret", "apiVersion: v1\nkind: Config\ncurrent-context: c\n"} {
		if _, err := Tunnel(t.Context(), Direct{}, broken); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("of %q: %v", broken, err)
		}
	}
}
