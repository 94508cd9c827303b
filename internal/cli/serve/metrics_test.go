package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/ui"
)

// kubeconfigOf is a file that leads to an API server.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: '" + url + "'}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheJanitorsCountersAreServed asks the janitor as it is by default for its
// metrics, before it has anything to count: a counter that is not there cannot be
// alerted on. The API server knows no kinds, which is nothing to metrics. Another test of
// the process may have counted already: its registry is the process'.
//
// proves: F152
func TestTheJanitorsCountersAreServed(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(api.Close)
	janitor := janitorSet()
	janitor.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	o := options{kubeconfig: kubeconfigOf(t, api.URL), metricsAddress: freeAddress(t), healthAddress: noServer,
		logLevel: "error", logFormat: "text", shutdown: time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var log syncBuffer
	go func() { ended <- o.run(ctx, ui.Streams{Err: &log}, []set{janitor}) }()
	t.Cleanup(func() {
		cancel()
		<-ended // caches that were never filled make an error of it
	})
	status, text := 0, ""
	for end := time.Now().Add(30 * time.Second); status != http.StatusOK && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		status, text = get("http://" + o.metricsAddress + "/metrics")
	}
	for _, want := range []string{"# TYPE capi_janitor_cleanups_total counter", `capi_janitor_cleanups_total{result="success"} `, `capi_janitor_cleanups_total{result="failure"} `} {
		if !strings.Contains(text, want) {
			t.Errorf("status %d, no %q among the metrics\n%s", status, want, log.String())
		}
	}
	if flag := newControllers(ui.Streams{}, []set{janitor}).Flags().Lookup("metrics-address"); flag.DefValue != ":8080" {
		t.Errorf("by default the address is %q", flag.DefValue)
	}
}
