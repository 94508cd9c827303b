package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// syncBuffer takes logs of several goroutines.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func get(url string) (int, string) {
	response, err := http.Get(url) //nolint:noctx // a test's
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Fatalf("not in time: %s", what)
}

// TestServing runs two sets against a real API server: each has a lease of its
// own, metrics and probes answer, and a cancelled context ends it in order.
//
// proves: F152
func TestServing(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	metrics, health := freeAddress(t), freeAddress(t)
	started, ended := make(chan struct{}), make(chan struct{})
	second := quiet("second")
	second.setup = func(m manager.Manager, _ *barrier) error {
		return m.Add(manager.RunnableFunc(func(ctx context.Context) error { close(started); <-ctx.Done(); close(ended); return nil }))
	}
	o := options{kubeconfig: kubeconfig, metricsAddress: metrics, healthAddress: health, logLevel: "info", logFormat: "json",
		election: true, electionNamespace: "default", shutdown: 5 * time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log syncBuffer
	result := make(chan error, 1)
	go func() { result <- o.run(ctx, ui.Streams{Err: &log}, []set{quiet("first"), second}) }()
	eventually(t, "readiness", func() bool { status, _ := get("http://" + health + "/readyz"); return status == http.StatusOK })
	if status, _ := get("http://" + health + "/healthz"); status != http.StatusOK {
		t.Errorf("health: %d", status)
	}
	if status, text := get("http://" + metrics + "/metrics"); status != http.StatusOK || !strings.Contains(text, "go_goroutines") {
		t.Errorf("metrics: %d", status)
	}
	typed, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "two leases", func() bool {
		for _, name := range []string{"slipway-first", "slipway-second"} {
			lease, err := typed.CoordinationV1().Leases("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
				return false
			}
		}
		return true
	})
	<-started // a leader starts its parts a moment after it has the lease
	cancel()
	select {
	case err := <-result:
		if err != nil {
			t.Errorf("after a signal: %v\n%s", err, log.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on after a signal")
	}
	<-ended
	lease, err := typed.CoordinationV1().Leases("default").Get(t.Context(), "slipway-first", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
		t.Errorf("the lease is not given up: %+v (%v)", lease.Spec, err)
	}
}

func TestOneSetThatFailsEndsAll(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := quiet("broken")
	broken.setup = func(m manager.Manager, _ *barrier) error {
		return m.Add(manager.RunnableFunc(func(context.Context) error { return errors.New("out of luck") }))
	}
	o := options{kubeconfig: kubeconfig, metricsAddress: noServer, healthAddress: noServer, logLevel: "error", logFormat: "text", shutdown: time.Second}
	err := o.run(t.Context(), ui.Streams{Err: io.Discard}, []set{quiet("sound"), broken})
	if err == nil || !strings.Contains(fmt.Sprint(err), "controllers broken: out of luck") {
		t.Errorf("error %v", err)
	}
}
