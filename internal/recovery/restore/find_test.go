package restore

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

const ofOthers = `apiVersion: v1
kind: Namespace
metadata: {name: logins, uid: o1}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: logins, uid: o2}
data: {clouds.yaml: e30=}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: OpenStackClusterIdentity
metadata: {name: all, uid: o3}
spec: {secretRef: {name: login, namespace: logins}}
---
apiVersion: v1
kind: Namespace
metadata: {name: magnum-other, uid: o4}
---
apiVersion: magnum.slipway.sh/v1alpha1
kind: ClusterTemplate
metadata: {name: public, namespace: magnum-other, uid: o5}
spec: {public: true}
`

// TestOneClusterComesBackWithWhatItNeedsOfOthers, or with what there is of it, which stays as it
// is, also if somebody has made it anew.
func TestOneClusterComesBackWithWhatItNeedsOfOthers(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]bool{"is there": true, "is gone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			others, err := kube.Decode(strings.NewReader(ofOthers))
			if err != nil {
				t.Fatal(err)
			}
			g := recoverytest.New("a")
			for _, o := range g.Snapshot.Objects {
				switch {
				case o.GetKind() == "OpenStackCluster":
					put(t, o, map[string]any{"type": "ClusterIdentity", "name": "all", "cloudName": "openstack"}, "spec", "identityRef")
				case o.GetKind() == "Cluster" && strings.HasPrefix(o.GetAPIVersion(), "magnum."):
					put(t, o, map[string]any{"namespace": "magnum-other", "name": "public"}, "spec", "templateRef")
				}
			}
			g.Snapshot.Objects = append(g.Snapshot.Objects, others...)
			var now []*unstructured.Unstructured
			for _, o := range others {
				if there {
					o = o.DeepCopy()
					o.SetUID("new-" + types.UID(o.GetName()))
					now = append(now, o)
				}
			}
			api := recoverytest.Serve(t, now...)
			for _, o := range g.Snapshot.Objects {
				api.Know(o.GetAPIVersion(), o.GetKind(), o.GetNamespace() != "")
			}
			on := cluster(t, api.Config, nil)
			p, err := recovery.NewPlan(g.Snapshot, recovery.Scope{Cluster: "a"})
			if err != nil {
				t.Fatal(err)
			}
			own := p.Objects()
			found, err := Find(t.Context(), on, p)
			if brought := p.Objects() - own; err != nil || there && brought != 0 || !there && brought != len(others) {
				t.Fatalf("%d objects come with it, %v", brought, err)
			}
			if logins := recovery.Logins(p, slices.Concat(slices.Concat(p.Steps...), found)); len(logins) != 1 || logins[0].Err != nil {
				t.Errorf("logins before the restore: %+v", logins)
			}
			did, err := Restorer{To: on}.Run(t.Context(), p)
			if err != nil || did.Created != p.Objects() {
				t.Fatalf("%+v of %d, %v", did, p.Objects(), err)
			}
			e := evidence(t, on, g, p)
			proved(t, e)
			if logins := recovery.Logins(p, e.Live); len(logins) != 1 || logins[0].Err != nil {
				t.Errorf("logins: %+v", logins)
			}
		})
	}
}

func put(t *testing.T, o *unstructured.Unstructured, value map[string]any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedMap(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}
