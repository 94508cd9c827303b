package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestWhatEndsOrIsUsedUpIsServed by the set causes, which asks the environment's project with
// the login of the fence. The API server knows no kinds: there are no clusters. It is alone,
// because the registry of metrics is the process', and other tests make the set, too.
func TestWhatEndsOrIsUsedUpIsServed(t *testing.T) {
	box := sandboxtest.Start(t)
	api := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(api.Close)
	o := options{kubeconfig: kubeconfigOf(t, api.URL), metricsAddress: freeAddress(t), healthAddress: noServer, sameNames: true,
		logLevel: "error", logFormat: "text", shutdown: time.Second, fence: fenceOptions{environment: "prod", clouds: box.CloudsYAML(), entry: "sandbox"}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var log syncBuffer
	go func() { ended <- o.run(ctx, ui.Streams{Err: &log}, []set{causesSet()}) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	text := ""
	for end := time.Now().Add(60 * time.Second); !strings.Contains(text, "slipway_orphaned_clusters 0") && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, text = get("http://" + o.metricsAddress + "/metrics")
	}
	for _, want := range []string{`slipway_quota_limit{resource="cores"} 20`, `slipway_quota_used{resource="cores"} 0`, "slipway_orphaned_clusters 0",
		`slipway_upkeep_looked_timestamp_seconds{what="compute"} `} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %q among the metrics\n%s", want, log.String())
		}
	}
}
