package undo

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/kube"
)

// addons are what up applies in the cluster for Velero and the monitoring.
const addons = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: velero-backup}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: velero-backup}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: velero-backup}
subjects: [{kind: ServiceAccount, name: velero, namespace: velero}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: velero-restore}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: velero, namespace: velero}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: slipway-prometheus}
rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: slipway-prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: slipway-prometheus}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: monitoring-system}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.velero.io}
`

// rights are what a controller has in the cluster.
const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: capi-new}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: capi-new}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: capi-new}
subjects: [{kind: ServiceAccount, name: capi, namespace: capi-system}]
`

// TestAddonsStayWhole: the workloads of Velero and of the monitoring stay as they are, and so
// what they have in the cluster stays too, whether they were enabled or removed since.
func TestAddonsStayWhole(t *testing.T) {
	t.Parallel()
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: velero-backup}
`
	for name, test := range map[string]struct {
		former, now   string
		back, removed []string
	}{
		"enabled since":                 {"", addons, nil, nil},
		"removed since":                 {addons, "", nil, nil},
		"removed but for its role":      {addons, role, nil, nil},
		"enabled again":                 {role, addons, nil, nil},
		"upgraded":                      {addons, strings.ReplaceAll(addons, "[list]", "[list, watch]"), nil, nil},
		"rights of a new controller":    {"", rights, nil, []string{"ClusterRole capi-new", "ClusterRoleBinding capi-new"}},
		"rights of a former controller": {rights, "", []string{"ClusterRole capi-new", "ClusterRoleBinding capi-new"}, nil},
	} {
		p, err := NewPlan(decoded(t, test.former), decoded(t, test.now), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slices.Sort(p.Back)
		slices.Sort(p.Removed)
		if !slices.Equal(p.Back, test.back) || !slices.Equal(p.Removed, test.removed) || len(p.Kept) != 0 {
			t.Errorf("%s: back %v, removed %v, kept %v", name, p.Back, p.Removed, p.Kept)
		}
	}
}

func decoded(t *testing.T, text string) Applied {
	t.Helper()
	objects, err := kube.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
