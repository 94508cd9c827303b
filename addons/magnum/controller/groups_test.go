package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// patches notes what is patched, by name, and answers that it is gone.
func (h *harness) patches() map[string]string {
	sent := map[string]string{}
	h.intercept(interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
		text, err := patch.Data(o)
		sent[o.GetName()] += string(text)
		if err != nil {
			return err
		}
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	}})
	return sent
}

// TestSizesThatAreSetWithoutHelm: of a release of another program, and of an autoscaled group for which a new
// size was asked; else the release has them.
func TestSizesThatAreSetWithoutHelm(t *testing.T) {
	t.Parallel()
	auto := map[string]string{"auto_scaling_enabled": "true", "min_node_count": "1", "max_node_count": "9"}
	for name, test := range map[string]struct {
		foreign  bool
		labels   map[string]string
		group    observe.Group
		complete *int32
		seen     int64
		sized    bool
	}{
		"another's":                       {true, nil, observe.Group{Exists: true, Replicas: 1}, nil, 1, true},
		"another's, as it is":             {true, nil, observe.Group{Exists: true, Replicas: 4}, nil, 1, false},
		"another's, not there":            {true, nil, observe.Group{Replicas: 1}, nil, 1, false},
		"Slipway's":                       {false, nil, observe.Group{Exists: true, Replicas: 1}, nil, 0, false},
		"autoscaled, asked for":           {false, auto, observe.Group{Exists: true, Replicas: 1}, ptr.To[int32](1), 0, true},
		"autoscaled, new":                 {false, auto, observe.Group{Exists: true, Replicas: 1}, nil, 0, true},
		"autoscaled since":                {false, auto, observe.Group{Exists: true, Replicas: 1}, ptr.To[int32](1), 1, false},
		"autoscaled, something else":      {false, auto, observe.Group{Exists: true, Replicas: 1}, ptr.To[int32](4), 0, false},
		"autoscaled, another's, no sizes": {true, auto, observe.Group{Exists: true, Replicas: 7}, ptr.To[int32](4), 1, false},
	} {
		h := ready(t)
		p := h.look()
		sent := h.patches()
		p.cluster.Spec.Labels, p.cluster.Status.Release = test.labels, &v1alpha1.ReleaseStatus{Foreign: test.foreign}
		g := h.group("default-worker")
		g.Spec.NodeCount, g.Status.CompleteNodeCount, g.Generation, g.Status.ObservedGeneration = 4, test.complete, 1, test.seen
		test.group.Object = "machines"
		p.groups, p.state.Workers = []*v1alpha1.NodeGroup{g}, map[string]observe.Group{"default-worker": test.group}
		want := ""
		if test.sized {
			want = `{"spec":{"replicas":4}}`
		}
		if err := p.scale(t.Context()); err != nil || strings.TrimSpace(sent["machines"]) != want {
			t.Errorf("%s: %v, %v", name, sent, err)
		}
		clear(sent)
		p.cluster.Status.Release = nil
		if err := p.scale(t.Context()); err != nil || len(sent) > 0 {
			t.Errorf("%s, without a release: %v, %v", name, sent, err)
		}
	}
}

// TestMastersAreScaledAsWell, at the control plane.
func TestMastersAreScaledAsWell(t *testing.T) {
	t.Parallel()
	h := movedIn(t)
	h.pass()
	h.editGroup("default-master", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 3 })
	h.pass()
	if n, _, _ := unstructured.NestedInt64(h.object(controlPlane(), stack+"-control-plane").Object, "spec", "replicas"); n != 3 || h.releases.ensured > 0 {
		t.Errorf("%d masters, %d releases", n, h.releases.ensured)
	}
}

// TestMarksOfMachines are written where they change, and not on what goes already.
func TestMarksOfMachines(t *testing.T) {
	t.Parallel()
	h := ready(t)
	now := metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	machine := func(name, id, mark string, going bool) *unstructured.Unstructured {
		m := made(machine(), namespace, name, map[string]any{"providerID": id})
		m.SetLabels(map[string]string{observe.LabelGroup: "default-worker"})
		if mark != "" {
			m.SetAnnotations(map[string]string{deleteMachine: mark})
		}
		if going {
			m.SetDeletionTimestamp(&now)
		}
		return m
	}
	p := h.look()
	sent := h.patches()
	p.groups[len(p.groups)-1].Spec.NodesToRemove, p.groups[0].Spec.NodesToRemove = []string{"a", "b", "c", "d", ""}, []string{"a", "b", "c", "d", ""}
	p.objects.Machines = []*unstructured.Unstructured{machine("new", "openstack:///a", "", false), machine("marked", "openstack:///b", markOfOurs, false), machine("going", "openstack:///c", "", true),
		machine("others", "openstack:///d", "yes", false), machine("stays", "openstack:///e", markOfOurs, false), machine("left", "openstack:///f", "", false), machine("nameless", "", "", false)}
	if err := p.markMachines(t.Context()); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(sent))
	if want := []string{"new", "others", "stays"}; !slices.Equal(names, want) || !strings.Contains(sent["new"], markOfOurs) || !strings.Contains(sent["stays"], "null") {
		t.Errorf("%v", sent)
	}
}

// TestAGroupThatIsDeletedLetsGo when its machines are gone; masters, which go with the cluster, at once.
func TestAGroupThatIsDeletedLetsGo(t *testing.T) {
	t.Parallel()
	m := made(machine(), namespace, "m", nil)
	m.SetLabels(map[string]string{observe.LabelGroup: "gpu"})
	for name, test := range map[string]struct {
		role     string
		machines []*unstructured.Unstructured
		group    observe.Group
		stays    bool
	}{
		"nothing":              {v1alpha1.RoleWorker, nil, observe.Group{}, false},
		"a machine":            {v1alpha1.RoleWorker, []*unstructured.Unstructured{m}, observe.Group{}, true},
		"a deployment":         {v1alpha1.RoleWorker, nil, observe.Group{Exists: true}, true},
		"masters":              {v1alpha1.RoleMaster, []*unstructured.Unstructured{m}, observe.Group{Exists: true}, false},
		"another's machine":    {v1alpha1.RoleWorker, []*unstructured.Unstructured{made(machine(), namespace, "x", nil)}, observe.Group{}, false},
		"a group without mark": {"", nil, observe.Group{}, false},
	} {
		h := ready(t)
		p := h.look()
		sent := h.patches()
		g := newGroup("gpu")
		g.Spec.Role = test.role
		if test.role == "" {
			g.Finalizers = nil
		}
		p.leaving, p.objects.Machines, p.state.Workers, p.state.Master = []*v1alpha1.NodeGroup{g}, test.machines, map[string]observe.Group{"gpu": test.group}, test.group
		err := p.letGo(t.Context())
		if err != nil || (len(p.leaving) > 0) != test.stays || (len(sent) > 0) != (!test.stays && test.role != "") {
			t.Errorf("%s: %v, %d are left, %v", name, err, len(p.leaving), sent)
		}
	}
}

// TestANewCredentialIsShownToClusterAPI, on all that is there, only if the one before was lost.
func TestANewCredentialIsShownToClusterAPI(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		infra  bool
		lost   bool
		want   []string
	}{
		"lost before":       {v1alpha1.ReasonCredentialLost, true, false, []string{stack, "vm"}},
		"before it is made": {v1alpha1.ReasonCredentialLost, false, false, []string{"vm"}},
		"outdated before":   {"Outdated", true, false, nil},
		"nothing before":    {"", true, false, nil},
		"lost now":          {v1alpha1.ReasonCredentialLost, true, true, nil},
	} {
		h := ready(t)
		p := h.look()
		sent := h.patches()
		p.cluster.Status.Conditions = nil
		if test.reason != "" {
			p.credentialCondition(false, test.reason, "x")
		}
		p.objects.Servers = []*unstructured.Unstructured{made(server(), namespace, "vm", nil)}
		if !test.infra {
			p.objects.Infrastructure = nil
		}
		if test.lost {
			p.state.Causes = []observe.Cause{{Object: "credential", Message: "refused", Renew: true}}
		}
		if err := p.noteCredential(t.Context()); err != nil || !slices.Equal(slices.Sorted(maps.Keys(sent)), test.want) {
			t.Errorf("%s: %v, %v", name, sent, err)
		}
		for _, patch := range sent {
			if !strings.Contains(patch, fmt.Sprintf("%q:%q", v1alpha1.AnnotationRenewed, h.clock.Format(time.RFC3339))) {
				t.Errorf("%s: %s", name, patch)
			}
		}
		if valid := meta.IsStatusConditionTrue(p.cluster.Status.Conditions, v1alpha1.ConditionCredential); valid != (test.want != nil) {
			t.Errorf("%s: the credential is valid: %t", name, valid)
		}
	}
}
