package controller

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/helm"
)

// TestReleasesOfNamespaces are apart, made once, and taken away.
func TestReleasesOfNamespaces(t *testing.T) {
	t.Parallel()
	_, config := serve(t)
	h := newHelmReleases(config, slog.New(slog.DiscardHandler))
	wanted := helm.Wanted{Name: stack, Chart: testChart("1.0.0"), Values: map[string]any{"a": "b"}}
	for i, changes := range []bool{true, false} {
		r, changed, err := h.Ensure(t.Context(), namespace, wanted)
		if err != nil || changed != changes || r.Version != 1 {
			t.Fatalf("call %d: changed %t, %+v, %v", i, changed, r, err)
		}
	}
	for ns, there := range map[string]bool{namespace: true, "magnum-p2": false} {
		r, err := h.Last(t.Context(), ns, stack)
		if err != nil || (r != nil) != there {
			t.Errorf("in %s: %+v, %v", ns, r, err)
		}
	}
	for range 2 { // there may be none
		if err := h.Uninstall(t.Context(), namespace, stack); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := h.Last(t.Context(), namespace, stack); r != nil || err != nil {
		t.Errorf("after it was uninstalled: %+v, %v", r, err)
	}
}

// TestWhatHelmFailsIsTold, whatever was asked for.
func TestWhatHelmFailsIsTold(t *testing.T) {
	t.Parallel()
	s, config := serve(t)
	s.refuses = true
	contradicts := rest.CopyConfig(config)
	contradicts.TLSClientConfig = rest.TLSClientConfig{Insecure: true, CAData: []byte("x")}
	for want, c := range map[string]*rest.Config{"not for you": config, "insecure": contradicts} {
		h := newHelmReleases(c, slog.New(slog.DiscardHandler))
		_, lasts := h.Last(t.Context(), namespace, stack)
		_, changed, ensures := h.Ensure(t.Context(), namespace, helm.Wanted{Name: stack, Chart: testChart("1.0.0")})
		for what, err := range map[string]error{"last": lasts, "ensure": ensures, "uninstall": h.Uninstall(t.Context(), namespace, stack)} {
			if err == nil || !strings.Contains(err.Error(), want) || changed {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
	}
}

// TestReleasesWaitForAPlace, as long as somebody waits for them. A change that was begun does not end
// with that: the next process would find it interrupted.
func TestReleasesWaitForAPlace(t *testing.T) {
	t.Parallel()
	_, config := serve(t)
	h := newHelmReleases(config, slog.New(slog.DiscardHandler))
	ended, end := context.WithCancel(t.Context())
	end()
	for range helmParallel {
		h.places <- struct{}{}
	}
	if _, err := h.Last(ended, namespace, stack); !errors.Is(err, context.Canceled) {
		t.Errorf("without a place: %v", err)
	}
	if err := h.Uninstall(ended, namespace, stack); !errors.Is(err, context.Canceled) {
		t.Errorf("without a place: %v", err)
	}
	<-h.places
	if r, changed, err := h.Ensure(ended, namespace, helm.Wanted{Name: stack, Chart: testChart("1.0.0")}); err != nil || !changed || r == nil {
		t.Errorf("a change whose caller left: %+v, %v", r, err)
	}
	if len(h.places) != helmParallel-1 {
		t.Errorf("%d places are taken, want %d", len(h.places), helmParallel-1)
	}
}
