package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestTheAddonProviderApprovesCertificates: its set runs the controller of serving
// certificates, which the metrics of controllers name.
func TestTheAddonProviderApprovesCertificates(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	for _, text := range v1alpha1.Definitions() {
		server.Serve(t, text)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	addons := addonSet()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	addons.flags(flags)
	if err := flags.Parse([]string{"--addon-cache", t.TempDir(), "--addon-charts", t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	o := options{kubeconfig: kubeconfig, metricsAddress: freeAddress(t), healthAddress: noServer, sameNames: true, logLevel: "error", logFormat: "text", shutdown: time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var log syncBuffer
	go func() { ended <- o.run(ctx, ui.Streams{Err: &log}, []set{addons}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	eventually(t, "metrics of the controllers", func() bool {
		_, text := get("http://" + o.metricsAddress + "/metrics")
		return strings.Contains(text, `controller_runtime_max_concurrent_reconciles{controller="kubelet-certificates"} 8`)
	})
}
