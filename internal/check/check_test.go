package check

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/check/inside"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// TestChecks makes checks on a real API server. They clean up whatever happens.
//
// proves: S-79
func TestChecks(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	w := newWorld(t, server)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	empty, err := Run(ctx, func() Options { o := w.options("storage"); o.Patience = 20 * time.Second; return o }())
	if err != nil || empty.Passed || w.states(empty) != "nodes failed, volume skipped, snapshot skipped, cleanup passed" {
		t.Errorf("without nodes: %s, %v", w.states(empty), err)
	}
	w.nodes("n1", "n2")
	go w.work(ctx)
	go func() {
		for ctx.Err() == nil {
			_ = w.beat(ctx, "n1", "n2") // again in a moment
			time.Sleep(5 * time.Second)
		}
	}()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast", Annotations: map[string]string{defaultClass: "true"}}, Provisioner: "test"}
	if _, err := w.client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.passes(ctx)
	w.snapshots(ctx, server)
	w.fails(ctx)
	w.interrupted()
	w.withoutImage(ctx)
	w.conforms(ctx)
}

func (w *world) passes(ctx context.Context) {
	w.Helper()
	r, err := Run(ctx, w.options("quick"))
	if err != nil || !r.Passed || len(r.Steps) != 11 || strings.Contains(w.states(r), Skipped) {
		w.Errorf("passes: %+v, %v", r, err)
	}
	if i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Name == StepVolume }); i < 0 || r.Steps[i].Detail != "class fast: written on n1, read on n2" {
		w.Errorf("the volume: %+v", r.Steps)
	}
	w.clean()
	text, err := r.JUnit()
	var parsed suite
	if err != nil || xml.Unmarshal(text, &parsed) != nil || parsed.Tests != 11 || parsed.Failures != 0 {
		w.Errorf("JUnit: %v\n%s", err, text)
	}
}

func (w *world) fails(ctx context.Context) {
	w.Helper()
	w.mu.Lock()
	w.closed, w.loses, w.disobeys = "192.0.2.7:5000", true, true
	w.mu.Unlock()
	o := w.options("quick")
	o.Skip = []string{StepBalancer}
	r, err := Run(ctx, o)
	if err != nil || r.Passed || w.states(r) != "nodes passed, pods passed, dns passed, pod-to-pod passed, large-packets passed, service passed, egress failed, policies failed, volume failed, load-balancer skipped, cleanup passed" {
		w.Errorf("fails: %s, %v", w.states(r), err)
	}
	text, err := r.JUnit()
	if err != nil || !strings.Contains(string(text), "connection refused") || !strings.Contains(string(text), "nodes still reach it after 30s: n1, n2") || !strings.Contains(string(text), `failures="3"`) {
		w.Errorf("JUnit: %v\n%s", err, text)
	}
	w.clean()
	w.mu.Lock()
	w.closed, w.loses, w.disobeys = "", false, false
	w.mu.Unlock()
}

// interrupted stops a check in the middle.
func (w *world) interrupted() {
	w.Helper()
	ctx, interrupt := context.WithCancelCause(context.Background())
	defer interrupt(nil)
	why := errors.New("Ctrl-C")
	o := w.options("quick")
	o.Tell = func(s Step) {
		if s.Name == StepBalancer || s.Name == StepService {
			interrupt(why)
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, why) || r.Passed || r.Steps[len(r.Steps)-1].State != Passed {
		w.Errorf("interrupted: %s, %v", w.states(r), err)
	}
	w.clean()
}

func (w *world) withoutImage(ctx context.Context) {
	w.Helper()
	w.mu.Lock()
	w.waiting = "ImagePullBackOff"
	w.mu.Unlock()
	o := w.options("network")
	o.Patience = 15 * time.Second
	r, err := Run(ctx, o)
	if err != nil || r.Passed || !strings.Contains(w.states(r), "pods failed, dns skipped") {
		w.Errorf("without its image: %s, %v", w.states(r), err)
	} else if why := r.Steps[1].Detail; !strings.Contains(why, "ImagePullBackOff: no such image") || !strings.Contains(why, "not done after 15s") {
		w.Errorf("the cause is %q", why)
	}
	w.clean()
}

// TestThroughTheAPI asks the proxy of pods, and says what the pod says.
func TestThroughTheAPI(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/ns/pods/p:8080/proxy/dial" || r.FormValue("token") != "t" {
			t.Errorf("asked %s", r.URL)
		}
		if r.FormValue("of") == "bad" {
			http.Error(w, "connection refused", http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, "fine")
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Options: Options{Client: client}}
	if text, err := r.throughAPI(t.Context(), "ns", "p", inside.PathDial, url.Values{"token": {"t"}, "of": {"good"}}); err != nil || text != "fine" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := r.throughAPI(t.Context(), "ns", "p", inside.PathDial, url.Values{"token": {"t"}, "of": {"bad"}}); err == nil || err.Error() != "connection refused" {
		t.Errorf("refused: %v", err)
	}
}
