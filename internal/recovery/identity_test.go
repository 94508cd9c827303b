package recovery

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/kube"
)

const byIdentity = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop, namespace: shop, uid: a}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: shop}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: shop, namespace: shop, uid: b, labels: {cluster.x-k8s.io/cluster-name: shop}, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: shop, uid: a}]}
spec: {identityRef: {type: ClusterIdentity, name: all, cloudName: openstack}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: OpenStackClusterIdentity
metadata: {name: all, uid: c}
spec: {secretRef: {name: login, namespace: WHERE}}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: WHERE, uid: d}
data: {clouds.yaml: Y2xvdWRzOiB7fQ==}
---
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: WHERE, uid: e}
`

// TestLoginsOfSeveralNamespacesComeBack: an identity, and the Secret that it names wherever that
// is, belong to the clusters that log in by it.
func TestLoginsOfSeveralNamespacesComeBack(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"logins", "capo-system"} {
		s := &snapshot.Snapshot{Objects: objectsOf(t, byIdentity, where)}
		plan, err := NewPlan(s, Scope{})
		if err != nil {
			t.Fatal(err)
		}
		var restored []string
		for _, o := range slices.Concat(plan.Steps...) {
			restored = append(restored, Describe(o))
		}
		for name, want := range map[string]bool{"OpenStackClusterIdentity all": true, "Secret " + where + "/login": true, "Secret " + where + "/other": false} {
			if slices.Contains(restored, name) != want {
				t.Errorf("%s is among %q: %v", name, restored, !want)
			}
		}
		logins := Logins(plan, s.Objects)
		if len(logins) != 1 || logins[0].Err != nil || logins[0].Entry != "openstack" || string(logins[0].CloudsYAML) != "clouds: {}" {
			t.Errorf("logins %+v", logins)
		}
		for _, o := range s.Objects {
			for _, r := range References(o) {
				if !slices.ContainsFunc(s.Objects, func(o *unstructured.Unstructured) bool { return selfReference(o) == r }) {
					t.Errorf("%s refers to %s, which is not there", Describe(o), r)
				}
			}
		}
	}
}

// TestAnIdentityThatIsGoneIsToldByName: not as a Secret of its name.
func TestAnIdentityThatIsGoneIsToldByName(t *testing.T) {
	t.Parallel()
	all := objectsOf(t, byIdentity, "logins")
	for lost, want := range map[string]string{"OpenStackClusterIdentity all": "its OpenStackClusterIdentity all is not there", "Secret logins/login": "its Secret logins/login is not there"} {
		left := slices.DeleteFunc(slices.Clone(all), func(o *unstructured.Unstructured) bool { return Describe(o) == lost })
		plan, err := NewPlan(&snapshot.Snapshot{Objects: left}, Scope{})
		if err != nil {
			t.Fatal(err)
		}
		if logins := Logins(plan, left); len(logins) != 1 || logins[0].Err == nil || logins[0].Err.Error() != want {
			t.Errorf("without %s: %+v", lost, logins)
		}
	}
}

func objectsOf(t *testing.T, text, where string) []*unstructured.Unstructured {
	t.Helper()
	all, err := kube.Decode(strings.NewReader(strings.ReplaceAll(text, "WHERE", where)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
