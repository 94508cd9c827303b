package recover

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/site"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
)

// TestAnUndoHoldsAndReleasesWhatIsOfSeveralClusters: a ClusterResourceSet is paused with the
// clusters, so that the proofs pass, and released after the last of them.
func TestAnUndoHoldsAndReleasesWhatIsOfSeveralClusters(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a")
	g.Snapshot.Objects = append(g.Snapshot.Objects, recoverytest.ResourceSet("a"))
	on, err := kube.New(recoverytest.Serve(t, g.Snapshot.Objects...).Config)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := recovery.NewPlan(g.Snapshot, recovery.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	clusters := plan.Clusters()
	r := &reversal{rebuild: &rebuild{options: options{cluster: "all", leave: clusters}, plan: plan}, on: on, point: undo.Point{Undoing: time.Now(), Busy: clusters}}
	r.result.Clusters = clusters
	held := func() (names []string) {
		live, err := restore.Live(t.Context(), on, plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range live {
			if recovery.Held(o) {
				names = append(names, recovery.Describe(o))
			}
		}
		slices.Sort(names)
		return names
	}
	step := event.Start(event.Discard{}, "undo", "taking the controllers back")
	if _, err := r.pause(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if got := held(); !slices.Equal(got, []string{"Cluster a/a", "ClusterResourceSet a/set", "HelmRelease a/a-cni"}) {
		t.Errorf("held: %v", got)
	}
	if _, err := r.letGo(t.Context(), &site.Site{}, step); err != nil {
		t.Fatal(err)
	}
	if got := held(); len(got) > 0 {
		t.Errorf("still held: %v", got)
	}
}
