package source

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// proxy is a module proxy that answers nothing, and tells what it was asked for.
type proxy struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]bool
	more  chan struct{}
}

// newProxy refuses, or does not answer at all.
func newProxy(t *testing.T, silent bool) *proxy {
	t.Helper()
	p := &proxy{asked: map[string]bool{}, more: make(chan struct{}, 1)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked[strings.Split(r.URL.Path, "/@v")[0]] = true
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
		if silent {
			<-r.Context().Done()
			return
		}
		http.Error(w, "This module version is not available.", http.StatusForbidden)
	}))
	t.Cleanup(p.Close)
	return p
}

// waitFor waits until modules were asked for, or any if none is named.
func (p *proxy) waitFor(ctx context.Context, modules ...string) bool {
	for {
		p.mu.Lock()
		all := len(p.asked) > 0
		for _, module := range modules {
			all = all && p.asked["/"+module]
		}
		p.mu.Unlock()
		if all {
			return true
		}
		select {
		case <-p.more:
		case <-ctx.Done():
			return false
		}
	}
}

func (p *proxy) env(t *testing.T) []string {
	t.Helper()
	return append(os.Environ(), "GOPROXY="+p.URL, "GOMODCACHE="+t.TempDir(), "GONOSUMDB=*")
}

// TestModulesAreFetchedBesideTheFirst has the real go command fetch for two groups while a
// recipe of none has the only place. What it is refused is told by the programs' own recipes.
func TestModulesAreFetchedBesideTheFirst(t *testing.T) {
	t.Parallel()
	p, fetched := newProxy(t, false), false
	all := map[string]recipe{
		"kubelet": text{Text: "heavy", wait: func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			fetched = p.waitFor(ctx, "github.com/containernetworking/plugins", "github.com/opencontainers/runc")
		}},
		"kubectl": program{Module: "cni-flannel", Package: "github.com/containernetworking/plugins/plugins/meta/flannel"},
		"crictl":  program{Module: "runc", Package: "github.com/opencontainers/runc"},
	}
	folder, err := bundle.Create(t.TempDir(), platform())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	report, err := build(t.Context(), folder, Options{Jobs: 1, Env: p.env(t)}, all)
	if !fetched {
		t.Error("nothing was fetched beside the first recipe")
	}
	if wrong := fault.All(err); len(wrong) != 2 || report.Counted("failed") != 2 || !strings.Contains(wrong[0].Error()+wrong[1].Error(), "item crictl") {
		t.Errorf("errors %v, want one of each program", err)
	}
}

func TestFetchingEndsWithTheBuild(t *testing.T) {
	t.Parallel()
	p := newProxy(t, true)
	ctx, cancel := context.WithCancelCause(t.Context())
	all := map[string]recipe{
		"kubelet": text{Text: "heavy", wait: func(ctx context.Context) {
			ctx, done := context.WithTimeout(ctx, time.Minute)
			defer done()
			if !p.waitFor(ctx) {
				t.Error("nothing was fetched")
			}
			cancel(fault.ErrInterrupted)
		}},
		"kubectl": program{Module: "cni-flannel", Package: "github.com/containernetworking/plugins/plugins/meta/flannel"},
		"crictl":  program{Module: "runc", Package: "github.com/opencontainers/runc"},
	}
	folder, err := bundle.Create(t.TempDir(), platform())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := build(ctx, folder, Options{Jobs: 1, Env: p.env(t)}, all); fault.ExitCode(err) != fault.ExitInterrupted {
		t.Errorf("error %v, want the interrupt", err)
	}
}
