package recovery_test

import (
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

// TestWhatIsOfNoClusterAlone is held like clusters, stays held beside one that is left, and
// does not fail the proofs of a run after the one that released it.
func TestWhatIsOfNoClusterAlone(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a", "b")
	g.Snapshot.Objects = append(g.Snapshot.Objects, recoverytest.ResourceSet("a"), recoverytest.ResourceSet("b"))
	r := restoreIn(t, g, recovery.Scope{})
	for name, test := range map[string]struct{ left, want []string }{
		"all":               {nil, []string{"ClusterResourceSet a/set", "ClusterResourceSet b/set"}},
		"a cluster is left": {[]string{"b/b"}, []string{"ClusterResourceSet a/set"}},
	} {
		var got []string
		for _, o := range r.plan.Loose(test.left) {
			got = append(got, recovery.Describe(o))
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	failed := func(plan *recovery.Plan) (ids []string) {
		e := r.evidence()
		e.Plan = plan
		for _, c := range recovery.Prove(e) {
			if c.State == recovery.Refuted {
				ids = append(ids, c.ID)
			}
		}
		return ids
	}
	if held := r.plan.WithoutReleased(r.live); held.Objects() != r.plan.Objects() || failed(held) != nil {
		t.Errorf("all is held: %d of %d objects, failed %v", held.Objects(), r.plan.Objects(), failed(held))
	}
	recovery.Release(r.get(t, "ClusterResourceSet", "set"))
	if ids := failed(r.plan); !slices.Equal(ids, []string{"paused"}) {
		t.Errorf("one that nobody may have released yet: failed %v", ids)
	}
	if rest := r.plan.WithoutReleased(r.live); rest.Objects() != r.plan.Objects()-1 || failed(rest) != nil {
		t.Errorf("one is released: %d of %d objects, failed %v", rest.Objects(), r.plan.Objects(), failed(rest))
	}
}
