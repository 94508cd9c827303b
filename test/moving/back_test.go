package moving

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// rows is Magnum's database, which test/magnumdb has on real servers.
type rows struct{ image *database.Image }

// Read reads it.
func (r *rows) Read(context.Context) (*database.Image, error) { return r.image, nil }

// Apply writes it.
func (r *rows) Apply(_ context.Context, read *database.Image, work database.Work) error {
	next, err := read.After(r.image, work)
	if err == nil {
		r.image = next
	}
	return err
}

// back: what was resized is in Magnum's row. Nothing of the cluster is written, and
// from then on Slipway's controllers and API change nothing of it.
func (s *site) back(cluster string, to moving.Site, file string) {
	s.t.Helper()
	text, err := os.ReadFile(file)
	s.must(err)
	image, err := database.ParseImage(file, string(text))
	s.must(err)
	magnum, before := &rows{image}, s.versions()
	plan, err := moving.NewHandBack(s.t.Context(), magnum, to, moving.Choices{})
	s.must(err)
	if refused := plan.Refused(); len(refused) > 0 {
		s.t.Fatalf("%+v", refused)
	}
	s.must(plan.Run(s.t.Context(), magnum, to, func(string, bool) {}))
	at := slices.IndexFunc(magnum.image.Groups, func(g database.NodeGroup) bool { return g.ClusterID == uuid && g.Name == "default-worker" })
	if g := magnum.image.Groups[at]; g.NodeCount != 4 || g.Status != "UPDATE_COMPLETE" {
		s.t.Errorf("%+v", g)
	}
	until(s.t, "the copy", func() bool { return v1alpha1.Held(seen(s.t, s.client)) == v1alpha1.HeldByMagnum })
	o := seen(s.t, s.client)
	time.Sleep(3 * time.Second) // whatever the controllers would do
	if now := seen(s.t, s.client); now.ResourceVersion != o.ResourceVersion || len(now.Finalizers) > 0 {
		s.t.Errorf("Slipway wrote the resource afterwards: %s, %s, %v", o.ResourceVersion, now.ResourceVersion, now.Finalizers)
	}
	answer := ask(s.t, http.MethodPost, cluster+"/actions/resize", map[string]any{"node_count": 5}, http.StatusConflict)
	if !strings.Contains(fmt.Sprint(answer), "managed by OpenStack's Magnum") {
		s.t.Errorf("%v", answer)
	}
	s.kubeconfig(cluster)
	if diff := cmp.Diff(before, s.versions()); diff != "" {
		s.t.Errorf("the hand-back wrote: %s", diff)
	}
	// Until Magnum resizes it, the release has the former size: an import says so.
	again, err := moving.New(s.t.Context(), magnum.image.Database, to)
	s.must(err)
	if found := again.Find(uuid); len(found) != 1 || len(found[0].Problems) != 1 || !strings.Contains(found[0].Problems[0].What, "machineCount of default-worker 2, the database 4") {
		s.t.Errorf("the next import: %+v", found)
	}
}
