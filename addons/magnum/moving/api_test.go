package moving

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
)

// shownBy is what Magnum's API shows of a database: rows with other ids, without
// authorities and trusts.
func shownBy(d *database.Database) *database.Database {
	s := *d
	s.Partial, s.KeyPairs = true, nil
	s.Templates, s.Clusters = slices.Clone(d.Templates), slices.Clone(d.Clusters)
	for i := range s.Templates {
		s.Templates[i].ID += 1_700_000_000
	}
	for i := range s.Clusters {
		c := &s.Clusters[i]
		c.ID += 1_700_000_000
		c.CARef, c.MagnumRef, c.EtcdRef, c.FrontProxyRef, c.TrustID, c.TrusteeID = "", "", "", "", "", ""
	}
	return &s
}

// TestThroughTheAPI: clusters of Cluster API are adopted as from the database, those of
// Heat are refused because nobody could sign for them, and everything comes back to
// the database unchanged.
func TestThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, err := os.ReadFile(filepath.Join("database", "testdata", newestDump))
	w.must(err)
	image, err := database.ParseImage(newestDump, string(text))
	w.must(err)
	w.db = shownBy(image.Database)
	plan := w.imported()
	heat := w.find(plan, "old-heat")
	if len(heat.Problems) != 1 || heat.Verdict != Refuse || !strings.Contains(heat.Problems[0].Remedy, "--from-database") {
		t.Errorf("Heat's: %s, %+v", heat.Verdict, heat.Problems)
	}
	for name, want := range map[string]Verdict{"shop-prod": Adopt, "vex": Show} {
		if c := w.find(plan, name); c.Verdict != want {
			t.Errorf("%s: %s, %+v", name, c.Verdict, c.Problems)
		}
	}
	w.must(plan.Adopt(t.Context(), w.site(), func(string, bool) {}))
	back := w.handBack(&server{image: image}, Choices{})
	for kind, name := range map[string]string{KindCluster: "shop-prod", KindGroup: "gpu_1", KindTemplate: "old", KindQuota: "Cluster", KindCertificate: stack + "-ca"} {
		if i := item(back, kind, name); i.Verdict != Unchanged {
			t.Errorf("%s %s: %+v", kind, name, i)
		}
	}
}
