package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// uninstalls counts how often a release was taken away; what was made of it may stay.
type uninstalls struct {
	*fakeReleases
	stays bool
	times int
}

func (u *uninstalls) Uninstall(ctx context.Context, ns, name string) error {
	u.times++
	if u.stays {
		return nil
	}
	return u.fakeReleases.Uninstall(ctx, ns, name)
}

// TestAReleaseIsUninstalledOnce, however long the machines take; and if it was begun by a process that ended.
func TestAReleaseIsUninstalledOnce(t *testing.T) {
	t.Parallel()
	h := ready(t)
	releases := &uninstalls{fakeReleases: h.releases}
	h.r.Releases = releases
	h.hold()
	h.delete()
	for range 3 {
		h.pass()
	}
	if releases.times != 1 {
		t.Errorf("uninstalled %d times", releases.times)
	}
	c := h.cluster()
	c.Status.Release = &v1alpha1.ReleaseStatus{Revision: 1}
	if err := h.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if h.pass(); releases.times != 2 || h.cluster().Status.Release != nil {
		t.Errorf("uninstalled %d times, %+v", releases.times, h.cluster().Status.Release)
	}
}

// TestAClusterWithoutAReleaseIsDeleted: Helm knows nothing of it, as after its records were lost.
func TestAClusterWithoutAReleaseIsDeleted(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.r.Releases = &uninstalls{fakeReleases: h.releases, stays: true}
	h.hold()
	h.delete()
	deleted := 0
	h.intercept(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		if o.GetObjectKind().GroupVersionKind() == capiCluster().gvk() {
			deleted++
		}
		return c.Delete(ctx, o, opts...)
	}})
	for range 3 {
		h.pass()
	}
	if o := h.object(capiCluster(), stack); o.GetDeletionTimestamp() == nil || deleted != 1 {
		t.Errorf("it was deleted %d times", deleted)
	}
}

// TestACredentialOutlivesWhatNeedsIt: a server group that the chart left is deleted in OpenStack first.
func TestACredentialOutlivesWhatNeedsIt(t *testing.T) {
	t.Parallel()
	h := ready(t)
	left := made(serverGroup(), namespace, stack+"-workers", map[string]any{})
	left.SetFinalizers([]string{"openstack.k-orc.cloud/servergroup"})
	foreign := made(serverGroup(), namespace, "other", map[string]any{})
	foreign.SetLabels(map[string]string{observe.LabelStack: "other"})
	h.create(left, foreign)
	h.delete()
	for range 2 {
		h.pass()
		h.phases(v1alpha1.DeleteInProgress)
	}
	if o := h.object(serverGroup(), stack+"-workers"); o.GetDeletionTimestamp() == nil || len(h.revoker.revoked) > 0 {
		t.Errorf("deleted %v, revoked %v", o.GetDeletionTimestamp(), h.revoker.revoked)
	}
	o := h.object(serverGroup(), stack+"-workers")
	o.SetFinalizers(nil)
	h.update(o)
	h.pass()
	if h.object(serverGroup(), "other").GetDeletionTimestamp() != nil || !slices.Equal(h.revoker.revoked, []string{"user/cred-1"}) {
		t.Errorf("revoked %v", h.revoker.revoked)
	}
}

// TestADeletionWhereAKindIsNotServed: a management cluster without the resource controller has no server groups.
func TestADeletionWhereAKindIsNotServed(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.intercept(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if l, ok := list.(*unstructured.UnstructuredList); ok && l.GetKind() == "KubeadmConfigTemplateList" {
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: l.GetKind()}}
		}
		return c.List(ctx, list, opts...)
	}})
	h.delete()
	h.pass()
	h.pass()
	if !h.gone() {
		t.Error("something is left")
	}
}

// TestOthersFinalizersAreOthers: a cluster whose deletion these controllers have ended is left to who is yet to end it.
func TestOthersFinalizersAreOthers(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.edit(func(c *v1alpha1.Cluster) { c.Finalizers = []string{"example.org/other"} })
	h.delete()
	before := h.cluster().ResourceVersion
	h.pass()
	if c := h.cluster(); c.ResourceVersion != before || h.releases.last == nil || len(h.revoker.revoked) > 0 {
		t.Errorf("%+v", c.Status)
	}
}

// TestWhatADeletionWaitsFor is told; it fails for what only outside help cures, not for a machine that failed.
func TestWhatADeletionWaitsFor(t *testing.T) {
	t.Parallel()
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	deleting := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Deleting", "status": "True", "message": "two machines are left"}}}}}
	deleting.SetName("shop")
	for name, test := range map[string]struct {
		state   observe.State
		cluster *unstructured.Unstructured
		trouble *trouble
		failed  bool
		reason  string
	}{
		"machines":             {observe.State{Exists: true}, nil, nil, false, "waiting for Cluster API to delete the machines and the network"},
		"nothing":              {observe.State{}, nil, nil, false, ""},
		"Cluster API's words":  {observe.State{Exists: true}, deleting, nil, false, "Cluster shop: two machines are left"},
		"a failed machine":     {observe.State{Exists: true, Causes: []observe.Cause{{Object: "machine a", Message: "no", Final: true}}}, deleting, nil, false, "machine a: no"},
		"a quota, for a while": {observe.State{Exists: true, Causes: []observe.Cause{{Object: "quota", Message: "no", Hopeless: true, Since: old.Add(48 * time.Hour)}}}, nil, nil, false, "quota: no"},
		"a quota":              {observe.State{Exists: true, Causes: []observe.Cause{{Object: "a", Message: "no"}, {Object: "quota", Message: "no", Hopeless: true, Since: old}}}, nil, nil, true, "quota: no"},
		"trouble":              {observe.State{Exists: true, Causes: []observe.Cause{{Object: "a", Message: "no"}}}, nil, &trouble{errors.New("webhook is down"), true}, true, "webhook is down"},
	} {
		p := wellPass()
		p.state, p.objects.Cluster, p.trouble = &test.state, test.cluster, test.trouble
		p.metBefore(old)
		if failed, reason := p.deletionVerdict(); failed != test.failed || reason != test.reason {
			t.Errorf("%s: failed %t, %q", name, failed, reason)
		}
	}
}

// TestGroupsGoWithTheirCluster, those that were deleted before it as well, and nobody waits for one that is gone.
func TestGroupsGoWithTheirCluster(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.create(newGroup("gpu"))
	if err := h.client.Delete(t.Context(), h.group("gpu")); err != nil {
		t.Fatal(err)
	}
	h.delete()
	deleted := map[string]int{}
	h.intercept(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		if g, ok := o.(*v1alpha1.NodeGroup); ok {
			deleted[strings.TrimPrefix(g.Name, stack+"-")]++
		}
		return c.Delete(ctx, o, opts...)
	}})
	h.pass()
	h.pass()
	if !h.gone() || deleted["gpu"] > 0 || deleted["default-worker"] != 1 || deleted["default-master"] != 1 {
		t.Errorf("gone %t, deleted %v", h.gone(), deleted)
	}
}

// TestOrphansEnd: groups of a cluster that is gone let go, and only those that are being deleted.
func TestOrphansEnd(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := h.cluster()
	c.Finalizers = nil
	h.update(c)
	h.delete()
	h.create(newGroup("gpu"), newGroup("stays"))
	if err := h.client.Delete(t.Context(), h.group("gpu")); err != nil {
		t.Fatal(err)
	}
	h.pass()
	var groups v1alpha1.NodeGroupList
	if err := h.client.List(t.Context(), &groups); err != nil || len(groups.Items) != 1 || groups.Items[0].Name != stack+"-stays" || len(groups.Items[0].Finalizers) != 1 {
		t.Errorf("%+v, %v", groups.Items, err)
	}
	now := metav1.Now()
	gone := newGroup("gone")
	gone.DeletionTimestamp = &now
	if err := (&pass{reconciler: h.r}).finish(t.Context(), gone); err != nil {
		t.Errorf("a group that is gone: %v", err)
	}
	h.intercept((&ill{nth: 2}).funcs())
	if err := h.client.Delete(t.Context(), h.group("stays")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.reconcile(); err == nil {
		t.Error("a list that fails goes unnoticed")
	}
}
