package recovery

import (
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

const byOthers = byIdentity + `---
apiVersion: magnum.slipway.sh/v1alpha1
kind: Cluster
metadata: {name: shop, namespace: shop, uid: f}
spec: {templateRef: {namespace: magnum-other, name: k8s}, extra: {secretRef: {namespace: magnum-other, name: theirs}}}
---
apiVersion: magnum.slipway.sh/v1alpha1
kind: ClusterTemplate
metadata: {name: k8s, namespace: magnum-other, uid: g}
---
apiVersion: magnum.slipway.sh/v1alpha1
kind: ClusterTemplate
metadata: {name: another, namespace: magnum-other, uid: h}
---
apiVersion: v1
kind: Secret
metadata: {name: theirs, namespace: magnum-other, uid: i}
---
apiVersion: v1
kind: Namespace
metadata: {name: magnum-other, uid: j}
---
apiVersion: v1
kind: Namespace
metadata: {name: WHERE, uid: k}
`

// TestOneClusterNeedsObjectsOfOthers: its identity with the Secret of that, and the template of
// another project, with their namespaces first, but nothing else that it names elsewhere.
func TestOneClusterNeedsObjectsOfOthers(t *testing.T) {
	t.Parallel()
	for where, want := range map[string][]string{
		"logins": {"Namespace logins", "Namespace magnum-other", "ClusterTemplate magnum-other/k8s", "OpenStackClusterIdentity all", "Secret logins/login"},
		"shop":   {"Namespace magnum-other", "ClusterTemplate magnum-other/k8s", "OpenStackClusterIdentity all", "Secret shop/login"},
	} {
		s := &snapshot.Snapshot{Objects: objectsOf(t, byOthers, where)}
		plan, err := NewPlan(s, Scope{Cluster: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range plan.Needed {
			got = append(got, Describe(o))
		}
		namespaces := len(want) - 3
		for _, list := range [][]string{got[:min(namespaces, len(got))], got[min(namespaces, len(got)):]} {
			slices.Sort(list)
		}
		if !slices.Equal(got, want) {
			t.Errorf("in %s: %q", where, got)
		}
		own := plan.Objects()
		if plan.Bring(plan.Needed); plan.Objects() != own {
			t.Errorf("in %s: %d objects, %d when all is there", where, own, plan.Objects())
		}
		if plan.Bring(plan.Needed[:namespaces]); plan.Objects() != own+3 || len(plan.Steps[0]) != 1 {
			t.Errorf("in %s: %d objects, %d when only namespaces are there", where, own, plan.Objects())
		}
		if logins := Logins(plan, slices.Concat(plan.Steps...)); len(logins) != 1 || logins[0].Err != nil {
			t.Errorf("in %s: logins %+v", where, logins)
		}
		if all, err := NewPlan(s, Scope{}); err != nil || len(all.Needed) > 0 {
			t.Errorf("in %s: all clusters need %v, %v", where, all, err)
		}
	}
}
