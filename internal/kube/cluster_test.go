package kube

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestTheClientsOfAClusterShareAConnection also through another machine, where client-go gives
// each its own.
func TestTheClientsOfAClusterShareAConnection(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if got := r.Header.Get("User-Agent"); got != FieldManager {
			t.Errorf("%s is asked for by %q", r.URL.Path, got)
		}
		text := `{"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []}`
		if r.URL.Path == "/version" {
			text = `{"gitVersion": "v1.34.4"}`
		}
		_, _ = io.WriteString(w, text)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	var connections atomic.Int32
	config := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			connections.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := c.Typed.Discovery().ServerVersion(); err != nil || v.GitVersion != "v1.34.4" {
		t.Fatalf("%v, %v", v, err)
	}
	if _, err := c.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Typed.CoreV1().Pods(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
