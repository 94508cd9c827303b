package kube

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
)

// kubelet is an API server with a Service, whose port 80 leads to the port named web of the pods
// that it selects, and a kubelet that leads to a program on port 8080 and nowhere else.
func kubelet(t *testing.T, program http.Handler, pods string) *rest.Config {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer operator":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/api/v1/namespaces/n/services/s":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind": "Service", "apiVersion": "v1", "spec": {"selector": {"app": "s"}, "ports": [{"port": 80, "targetPort": "web"}, {"port": 81, "targetPort": 9}, {"port": 82, "targetPort": "none"}]}}`)
		case r.URL.Path == "/api/v1/namespaces/n/pods" && r.URL.Query().Get("labelSelector") == "app=s":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind": "PodList", "apiVersion": "v1", "items": [%s]}`, pods)
		case r.URL.Path == "/api/v1/namespaces/n/pods/s-2/portforward" && r.Method == http.MethodPost:
			forwardStreams(w, r, program)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL, BearerToken: "operator", TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}}
}

// forwardStreams is the kubelet's side of a forwarded port.
func forwardStreams(w http.ResponseWriter, r *http.Request, program http.Handler) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error { streams <- s; return nil })
	if connection == nil {
		return
	}
	defer connection.Close()
	problems, data := <-streams, <-streams
	if port := data.Headers().Get(corev1.PortHeader); port != "8080" {
		fmt.Fprintf(problems, "port %s: connection refused", port)
		_, _ = problems.Close(), data.Close()
		<-connection.CloseChan()
		return
	}
	inside := httptest.NewServer(program)
	defer inside.Close()
	to, err := net.Dial("tcp", inside.Listener.Addr().String())
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, data) }()
	go func() { _, _ = io.Copy(data, to) }()
	<-connection.CloseChan()
}

const twoPods = `{"metadata": {"name": "s-1"}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}},
	{"metadata": {"name": "s-2"}, "spec": {"containers": [{"ports": [{"name": "web", "containerPort": 8080}]}]}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}`

// TestDial reaches a Service by a ready pod of it, with the login of the API server, also by
// another machine; requests share a connection.
func TestDial(t *testing.T) {
	t.Parallel()
	config := kubelet(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, strings.Repeat(".", 1<<20), r.Header.Get("Authorization"))
	}), twoPods)
	var by atomic.Int32
	through := rest.CopyConfig(config)
	through.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		by.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	for name, config := range map[string]*rest.Config{"directly": config, "by another machine": through} {
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		dials := 0
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials++
			return c.Dial(ctx, "n", "s", 80)
		}}
		for _, path := range []string{"/a", "/b"} {
			response, err := (&http.Client{Transport: transport}).Get("http://s" + path)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || string(text) != path+strings.Repeat(".", 1<<20) {
				t.Errorf("%s: %d bytes, %v", name, len(text), err)
			}
		}
		transport.CloseIdleConnections()
		if dials != 1 {
			t.Errorf("%s: %d connections", name, dials)
		}
	}
	if by.Load() < 2 { // one for the objects, one for the port
		t.Errorf("%d connections by another machine", by.Load())
	}
}

// TestNoWayIntoAPod says what is missing: the Service, a ready pod, the port, or who listens.
func TestNoWayIntoAPod(t *testing.T) {
	t.Parallel()
	none := kubelet(t, http.NotFoundHandler(), `{"metadata": {"name": "s-1"}}`)
	some := kubelet(t, http.NotFoundHandler(), twoPods)
	stranger := rest.CopyConfig(some)
	stranger.BearerToken = "other"
	for _, c := range []struct {
		config  *rest.Config
		service string
		port    int
		want    string
	}{
		{some, "x", 80, "reading service n/x"},
		{none, "s", 80, "no pod of service n/s is ready"},
		{some, "s", 82, "leads to no port of pod s-2 by port 82"},
		{some, "s", 83, "leads to no port of pod s-2 by port 83"},
		{some, "s", 81, "port 9: connection refused"},
		{stranger, "s", 80, "provide credentials"},
	} {
		on, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := on.Dial(t.Context(), "n", c.service, c.port)
		if err == nil { // a kubelet tells of a port only when it is used
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:%d: %v, want %q", c.service, c.port, err, c.want)
		}
	}
}
