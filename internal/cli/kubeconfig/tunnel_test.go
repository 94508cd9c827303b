package kubeconfig

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// output is written by the command while the test reads it.
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

// TestTheTunnelLastsUntilItIsStopped, and its file as long. One that leads nowhere is told
// of at once, and leaves no file.
//
// proves: F41
func TestTheTunnelLastsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	defer server.Close()
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	kubeconfig := func(url string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: '" + url + "', certificate-authority-data: " + authority + "}}]\nusers: [{name: u, user: {token: secret-word}}]\n"
	}
	path := filepath.Join(t.TempDir(), "tunnel.kubeconfig")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &output{}
	done := make(chan error, 1)
	go func() {
		done <- tunnel(ctx, ui.Streams{Out: out, Err: out}, kubernetes.Direct{}, kubeconfig(server.URL), path)
	}()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(out.String(), "Ctrl-C"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it said %q", out)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(out.String(), "export KUBECONFIG="+path+"\n") || strings.Contains(out.String(), "secret-word") {
		t.Errorf("file %v, %v; it said %q", info, err, out)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is left")
	}
	server.Close()
	if err := tunnel(t.Context(), ui.Streams{Out: out, Err: out}, kubernetes.Direct{}, kubeconfig(server.URL), path); err == nil || !strings.Contains(err.Error(), "tunnel through the seed") {
		t.Errorf("to nowhere: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a tunnel to nowhere has a file")
	}
}
