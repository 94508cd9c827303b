package lifecycle

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/receiver"
	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// world is a management cluster's API server with the definitions of Cluster API, and
// the API server of the workload cluster that its stand-in controllers make.
type world struct {
	server, workload *kubetest.Server
	kube             *kube.Cluster
	typed            kubernetes.Interface
	dynamic          dynamic.Interface
	tacker           *tackertest.Tacker
	receiver         *sink

	mu sync.Mutex
	// order is what happened to clusters.
	order    []string
	packages map[string]*tackertest.Package
}

const receiverToken = "receiver-token-0123456789"

var (
	clusters    = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	deployments = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machinedeployments"}
	planes      = schema.GroupVersionResource{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"}
)

const finalizer = "cluster.cluster.x-k8s.io"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{server: kubetest.Start(t), receiver: newSink(t), packages: map[string]*tackertest.Package{}}
	w.workload = kubetest.Start(t)
	var definitions [][]byte
	for _, text := range addons.Definitions() {
		definitions = append(definitions, text)
	}
	w.server.Define(t, definitions...)
	var err error
	if w.kube, err = kube.New(w.server.Config); err != nil {
		t.Fatal(err)
	}
	w.server.Config.QPS = -1
	w.typed, w.dynamic = kubernetes.NewForConfigOrDie(w.server.Config), dynamic.NewForConfigOrDie(w.server.Config)
	w.tacker = tackertest.New(t, w.server.Config, w.server.Kubeconfig)
	w.tacker.Hidden = w.secrets
	work, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.control(work) }()
	t.Cleanup(func() { stop(); <-ended })
	return w
}

func (w *world) secrets() []string { return append(w.receiver.tokens(), receiverToken) }

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order = append(w.order, fmt.Sprintf(format, args...))
}

func (w *world) noted() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.order, "; ")
}

// control stands in for the controllers of Cluster API: machines are there at once.
func (w *world) control(ctx context.Context) {
	for ctx.Err() == nil {
		for _, kind := range []schema.GroupVersionResource{planes, deployments} {
			list, err := w.dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
			for i := 0; err == nil && i < len(list.Items); i++ {
				w.machines(ctx, kind, &list.Items[i])
			}
		}
		list, err := w.dynamic.Resource(clusters).List(ctx, metav1.ListOptions{})
		for i := 0; err == nil && i < len(list.Items); i++ {
			w.cluster(ctx, &list.Items[i])
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (w *world) patch(ctx context.Context, kind schema.GroupVersionResource, o *unstructured.Unstructured, body map[string]any, sub ...string) {
	text, err := json.Marshal(body)
	if err == nil {
		_, _ = w.dynamic.Resource(kind).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, text, metav1.PatchOptions{}, sub...)
	}
}

func (w *world) machines(ctx context.Context, kind schema.GroupVersionResource, o *unstructured.Unstructured) {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if seen != o.GetGeneration() {
		w.patch(ctx, kind, o, map[string]any{"status": map[string]any{"observedGeneration": o.GetGeneration(), "replicas": n, "readyReplicas": n, "upToDateReplicas": n}}, "status")
	}
}

// cluster makes a cluster available, with a kubeconfig, and deletes it after a while.
func (w *world) cluster(ctx context.Context, o *unstructured.Unstructured) {
	switch {
	case o.GetDeletionTimestamp() != nil:
		if time.Since(o.GetDeletionTimestamp().Time) < time.Second || len(o.GetFinalizers()) == 0 {
			return
		}
		_, err := w.typed.CoreV1().Secrets(o.GetNamespace()).Get(ctx, "shop-cloud", metav1.GetOptions{})
		releases, _ := w.typed.CoreV1().Secrets(o.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
		w.note("deleted while the credential is there: %v, the release: %v", err == nil, releases != nil && len(releases.Items) > 0)
		w.patch(ctx, clusters, o, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	case len(o.GetFinalizers()) == 0:
		w.patch(ctx, clusters, o, map[string]any{"metadata": map[string]any{"finalizers": []string{finalizer}}})
		secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s-kubeconfig, namespace: %s}\nstringData: {value: %q}\n", o.GetName(), o.GetNamespace(), w.workload.Kubeconfig)
		if w.kube.Apply(ctx, []byte(secret)) == nil {
			now := metav1.Now().UTC().Format(time.RFC3339)
			w.patch(ctx, clusters, o, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": now}}}}, "status")
		}
	}
}

// sink is the receiver's registry behind a real receiver with TLS.
type sink struct {
	server *httptest.Server
	mu     sync.Mutex
	vims   map[string]receiver.VIM
	all    []receiver.VIM
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{vims: map[string]receiver.VIM{}}
	handler, err := receiver.New(s, receiverToken, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewTLSServer(handler)
	t.Cleanup(s.server.Close)
	return s
}

func (s *sink) Register(_ context.Context, v receiver.VIM) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vims[v.Name], s.all = v, append(s.all, v)
	return nil
}

func (s *sink) Remove(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.vims, name)
	return nil
}

func (s *sink) Description(_ context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vims[name].Description, nil
}

func (s *sink) tokens() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.all {
		all = append(all, v.BearerToken)
	}
	return all
}

func (s *sink) find(name string) (receiver.VIM, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.vims[name]
	return v, ok
}

// params are additionalParams that send credentials to the sink.
func (s *sink) params(edits ...func(map[string]any)) map[string]any {
	p := map[string]any{"credential_receiver_url": s.server.URL + receiver.Path, "credential_receiver_token": receiverToken,
		"credential_receiver_ca": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw}))}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// late serves the sink at an address from after a time on; before it nobody listens.
func (s *sink) late(t *testing.T, after time.Duration) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	timer := time.AfterFunc(after, func() {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("listening again: %v", err)
			return
		}
		server := &http.Server{Handler: s.server.Config.Handler, TLSConfig: &tls.Config{Certificates: s.server.TLS.Certificates}, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Second}
		t.Cleanup(func() { server.Close() })
		_ = server.ServeTLS(listener, "", "")
	})
	t.Cleanup(func() { timer.Stop() })
	return "https://" + address + receiver.Path
}
