package adopt

import (
	"strings"
	"testing"
)

// TestHandBack: an adoption can be undone until the cluster is changed.
func TestHandBack(t *testing.T) {
	t.Parallel()
	w := shop(t)
	if _, err := w.site.HandBack(t.Context(), "shop", ""); err == nil || !strings.Contains(err.Error(), "it was not adopted") {
		t.Error(err)
	}
	take := func() { must(t, w.plan("shop", "").Take(t.Context(), w.site, func(*Cluster, bool) {})) }
	take()
	key, err := w.site.HandBack(t.Context(), "shop", "")
	if err != nil || key.Namespace != "shops" {
		t.Fatal(key, err)
	}
	if c := w.plan("shop", "").Clusters[0]; c.Verdict != Adopt {
		t.Errorf("%+v", c)
	}
	take()
	w.releases.last["shops/shop"].Info.Description = "Upgrade complete"
	if _, err := w.site.HandBack(t.Context(), "shop", ""); err == nil || !strings.Contains(err.Error(), "Slipway changed it since (revision 2 of its release)") {
		t.Error(err)
	}
	if _, err := w.site.HandBack(t.Context(), "none", ""); err == nil || !strings.Contains(err.Error(), "0 clusters have this name") {
		t.Error(err)
	}
}

// TestForget: the record of a cluster that was adopted as it is goes.
func TestForget(t *testing.T) {
	t.Parallel()
	w := bare(t)
	if _, err := w.site.HandBack(t.Context(), "shop", ""); err == nil || !strings.Contains(err.Error(), "it was not adopted") {
		t.Error(err)
	}
	must(t, w.plan("shop", "").Take(t.Context(), w.site, func(*Cluster, bool) {}))
	if _, err := w.site.HandBack(t.Context(), "shop", "shops"); err != nil {
		t.Fatal(err)
	}
	if c := w.plan("shop", "").Clusters[0]; c.Verdict != AsItIs {
		t.Errorf("%+v", c)
	}
}
