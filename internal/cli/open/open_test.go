package open

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/alerts"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// cluster has Prometheus, which says what it was asked for.
func cluster(t *testing.T) alerts.Access {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "http://"+r.Host+"/new?a=b", http.StatusFound)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprintf(w, "%s %s?%s", r.Method, r.URL.Path, r.URL.RawQuery)
	}))
	t.Cleanup(server.Close)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: alerts.Namespace, Name: "prometheus"}}
	return alerts.Access{Client: fake.NewClientset(service), Dial: func(_ context.Context, namespace, name string, port int) (net.Conn, error) {
		if namespace != service.Namespace || name != service.Name || port != 9090 {
			return nil, fmt.Errorf("nothing is at %s/%s:%d", namespace, name, port)
		}
		return net.Dial("tcp", server.Listener.Addr().String())
	}}
}

// TestAPortOfThisMachine leads to Prometheus until it is stopped, and not for other sites.
//
// proves: F42
func TestAPortOfThisMachine(t *testing.T) {
	t.Parallel()
	on := cluster(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, told, done := &output{}, &output{}, make(chan error, 1)
	go func() {
		done <- options{listen: "127.0.0.1:0"}.forward(ctx, ui.Streams{Out: out, Err: told}, on, "prometheus")
	}()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(told.String(), "Ctrl-C"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it said %q", told)
		}
	}
	address := strings.TrimSpace(out.String())
	if !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Fatalf("it printed %q", address)
	}
	host := strings.TrimPrefix(address, "http://")
	for _, c := range []struct {
		path, host, origin, want string
		status                   int
	}{
		{"/api/v1/query?query=up", host, "", "GET /api/v1/query?query=up", 200},
		{"/", host, "", "GET /?", 200},
		{"/graph/", host, address, "GET /graph/?", 200},
		{"/old", host, "", address + "/new?a=b", 302},
		{"/", "evil.example.org", "", "this machine only", 403},
		{"/", host, "http://evil.example.org", "this machine only", 403},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = c.host
		if c.origin != "" {
			request.Header.Set("Origin", c.origin)
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode == 302 {
			text = []byte(response.Header.Get("Location"))
		}
		if response.StatusCode != c.status || strings.TrimSpace(string(text)) != c.want && !(c.status == 403 && strings.Contains(string(text), c.want)) {
			t.Errorf("%s for %s of %q: %d %q, want %d %q", c.path, c.host, c.origin, response.StatusCode, text, c.status, c.want)
		}
		if response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("other sites may read")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped: %v", err)
	}
	if _, err := http.Get(address); err == nil {
		t.Error("the port is still open")
	}
}

// TestWhatIsNotThere is told with the way to have it, and no port is opened for others.
func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	err := options{listen: "127.0.0.1:0"}.forward(t.Context(), ui.Streams{Out: io.Discard, Err: io.Discard}, cluster(t), "grafana")
	if err == nil || !strings.Contains(err.Error(), "not on the management cluster") || !strings.Contains(fault.Remedy(err), "spec.monitoring") {
		t.Errorf("%v, remedy %q", err, fault.Remedy(err))
	}
	if err := listen.Loopback("0.0.0.0:9090"); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("all addresses: %v", err)
	}
}
