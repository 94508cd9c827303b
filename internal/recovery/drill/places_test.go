package drill

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

const login = `apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: OpenStackClusterIdentity
metadata: {name: all, uid: i}
spec: {secretRef: {name: login, namespace: capo-system}}
---
apiVersion: v1
kind: Namespace
metadata: {name: capo-system, uid: n}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: capo-system, uid: s}
`

// TestEveryObjectOfADrillHasItsNamespace: those of controllers are no part of a restore, but the
// Secret of an OpenStackClusterIdentity may be in one.
func TestEveryObjectOfADrillHasItsNamespace(t *testing.T) {
	t.Parallel()
	more, err := kube.Decode(strings.NewReader(login))
	if err != nil {
		t.Fatal(err)
	}
	g := recoverytest.New("a")
	for name, want := range map[string]string{"without an identity": "", "with one": "Namespace capo-system"} {
		s := &snapshot.Snapshot{Objects: g.Snapshot.Objects}
		if want != "" {
			s.Objects = slices.Concat(more, s.Objects)
		}
		plan, err := recovery.NewPlan(s, recovery.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, o := range places(plan) {
			got += recovery.Describe(o)
		}
		if got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
