package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestTheTimeOfACreation ends it, with what it waited for; nothing else has one.
func TestTheTimeOfACreation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		phase   v1alpha1.Phase
		minutes *int32
		after   time.Duration
		failed  bool
		reason  string
		fails   bool
		want    string
		again   time.Duration
	}{
		"begun":              {v1alpha1.CreateInProgress, ptr.To[int32](20), 5 * time.Minute, false, "a machine", false, "a machine", 15 * time.Minute},
		"just over":          {v1alpha1.CreateInProgress, ptr.To[int32](20), 20 * time.Minute, false, "a machine", true, "not ready after 20 minutes (create_timeout): a machine", 0},
		"over, for nothing":  {"", ptr.To[int32](20), time.Hour, false, "", true, "not ready after 20 minutes (create_timeout)", 0},
		"an hour by default": {"", nil, 59 * time.Minute, false, "", false, "", time.Minute},
		"no end":             {v1alpha1.CreateInProgress, ptr.To[int32](0), 99 * time.Hour, false, "a machine", false, "a machine", 0},
		"failed before":      {v1alpha1.CreateInProgress, ptr.To[int32](20), time.Hour, true, "a quota", true, "a quota", 0},
		"an update":          {v1alpha1.UpdateInProgress, ptr.To[int32](20), time.Hour, false, "a machine", false, "a machine", 0},
		"complete":           {v1alpha1.CreateComplete, ptr.To[int32](20), time.Hour, false, "", false, "", 0},
	} {
		p := wellPass()
		p.cluster.Status.Phase, p.cluster.Spec.CreateTimeoutMinutes, p.cluster.CreationTimestamp = test.phase, test.minutes, metav1.Time{Time: p.now.Add(-test.after)}
		if failed, reason := p.timedOut(test.failed, test.reason); failed != test.fails || reason != test.want || p.again != test.again {
			t.Errorf("%s: failed %t, %q, again after %s", name, failed, reason, p.again)
		}
	}
}

// metBefore lets the causes have been met at a time.
func (p *pass) metBefore(at time.Time) {
	for _, c := range p.state.Causes {
		p.first.met(p.key, causeKey(c), at)
	}
}

// TestTheVerdictOfACluster: the first cause is the reason; one that has lasted too long ends the operation, unless
// it is a node group's, which tells it itself.
func TestTheVerdictOfACluster(t *testing.T) {
	t.Parallel()
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	passing, quota := observe.Cause{Object: "port a", Message: "no"}, observe.Cause{Object: "quota", Message: "no", Hopeless: true, Since: old}
	for name, test := range map[string]struct {
		causes  []observe.Cause
		own     *observe.Cause
		waiting string
		trouble *trouble
		failed  bool
		reason  string
	}{
		"well":                       {nil, nil, "", nil, false, ""},
		"it waits":                   {nil, nil, "machines", nil, false, "machines"},
		"a cause, while it waits":    {[]observe.Cause{passing}, nil, "machines", nil, false, "port a: no"},
		"what ends it":               {[]observe.Cause{passing, quota}, nil, "machines", nil, true, "quota: no"},
		"what ends a group":          {[]observe.Cause{passing, quota}, &quota, "machines", nil, false, "port a: no"},
		"a group has something else": {[]observe.Cause{quota}, &passing, "", nil, true, "quota: no"},
		"trouble":                    {[]observe.Cause{quota}, nil, "", &trouble{errors.New("webhook"), false}, false, "webhook"},
		"final trouble":              {nil, nil, "", &trouble{errors.New("chart"), true}, true, "chart"},
	} {
		p := wellPass()
		p.cluster.Status.Phase = v1alpha1.UpdateInProgress
		p.state.Causes, p.state.Waiting, p.trouble = test.causes, test.waiting, test.trouble
		p.state.Workers = map[string]observe.Group{"default-worker": {Cause: test.own}}
		p.metBefore(old)
		if failed, reason := p.verdict(); failed != test.failed || reason != test.reason {
			t.Errorf("%s: failed %t, %q", name, failed, reason)
		}
	}
}

// TestTroubleThatLasts ends an operation after a while; other trouble after it is given time again.
func TestTroubleThatLasts(t *testing.T) {
	t.Parallel()
	p := wellPass()
	p.cluster.Status.Phase = v1alpha1.UpdateInProgress
	for i, step := range []struct {
		after           time.Duration
		trouble, failed bool
	}{{0, true, false}, {4 * time.Minute, true, false}, {time.Minute, true, true}, {time.Minute, false, false}, {time.Minute, true, false}} {
		p.now, p.trouble, p.again = p.now.Add(step.after), nil, 0
		if step.trouble {
			p.stay(errors.New("webhook"), false)
		}
		if failed, _ := p.verdict(); failed != step.failed || (p.again > 0) != (step.trouble && !step.failed) {
			t.Errorf("step %d: failed %t, again after %s", i, failed, p.again)
		}
	}
}

// TestSoftwareOfAGroup is its own image's, with the cluster's version of Kubernetes if the image names none.
func TestSoftwareOfAGroup(t *testing.T) {
	t.Parallel()
	ours := driver.Software{ImageID: "image-34", KubernetesVersion: "1.34.2"}
	for name, test := range map[string]struct {
		id    string
		image *v1alpha1.ResolvedImage
		want  driver.Software
	}{
		"the cluster's":        {"", nil, ours},
		"the template's":       {"image-of-t34", &v1alpha1.ResolvedImage{ID: "x", KubernetesVersion: "1"}, ours},
		"its own":              {"own", &v1alpha1.ResolvedImage{ID: "x", KubernetesVersion: "1.34.1"}, driver.Software{ImageID: "x", KubernetesVersion: "1.34.1"}},
		"its own, no version":  {"own", &v1alpha1.ResolvedImage{ID: "x"}, driver.Software{ImageID: "x", KubernetesVersion: "1.34.2"}},
		"its own, not yet met": {"own", nil, ours},
	} {
		p, g := wellPass(), newGroup("gpu")
		p.cluster.Spec.Template, p.cluster.Spec.Resolved = &v1alpha1.TemplateSnapshot{TemplateValues: template("t34").Spec.TemplateValues}, resolved("image-34", "1.34.2")
		g.Spec.ImageID, g.Spec.Image = test.id, test.image
		if got := p.software(g); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWhatIsGoneIsNotWritten: a cluster or group that was deleted meanwhile is no fault.
func TestWhatIsGoneIsNotWritten(t *testing.T) {
	t.Parallel()
	h := start(t)
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "x"}, "x")
	h.intercept(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return gone
	}})
	h.pass()
}

// TestTheTimeOfAnUpdate is that of the last change of the phase; a creation has none.
func TestTheTimeOfAnUpdate(t *testing.T) {
	t.Parallel()
	now, last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, test := range []struct {
		before, after v1alpha1.Phase
		changes       bool
	}{{"", v1alpha1.CreateInProgress, false}, {v1alpha1.CreateComplete, v1alpha1.CreateComplete, false}, {v1alpha1.CreateInProgress, v1alpha1.CreateComplete, true}} {
		want := last
		if test.changes {
			want = &metav1.Time{Time: now}
		}
		if got := updated(test.before, test.after, last, now); !got.Equal(want) {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestAFailedGroupIsTheClustersReason, the first of them; a cluster that fails itself says why.
func TestAFailedGroupIsTheClustersReason(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.create(newGroup("gpu"), newGroup("tpu"))
	h.pass()
	for _, name := range []string{"gpu", "tpu"} {
		o := h.object(deployment(), stack+"-"+name)
		o.Object["status"] = map[string]any{"phase": "Failed", "observedGeneration": o.GetGeneration(), "conditions": []any{map[string]any{"type": "Available", "status": "False", "message": "no " + name}}}
		h.update(o)
	}
	h.pass()
	h.phases(v1alpha1.UpdateFailed, "gpu", "CREATE_FAILED", "tpu", "CREATE_FAILED", "default-worker", "CREATE_COMPLETE")
	if reason := h.cluster().Status.StatusReason; !strings.HasPrefix(reason, "node group gpu: ") || strings.Contains(reason, "tpu") {
		t.Errorf("reason %q", reason)
	}
}

// TestRollbacks: what the words of one are, whose size is back, and what may still go away by it.
func TestRollbacks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		was, cause string
		phase      v1alpha1.Phase
		want       string
	}{
		{"from 9 to 1", "", v1alpha1.RollbackInProgress, "from 9 to 1"},
		{"from 9 to 1; the rollback failed: no host", "x", v1alpha1.RollbackComplete, "from 9 to 1"},
		{"from 9 to 1", "no host", v1alpha1.RollbackFailed, "from 9 to 1; the rollback failed: no host"},
		{"from 9 to 1; the rollback failed: no host", "", v1alpha1.RollbackFailed, "from 9 to 1; the rollback failed: no host"},
		{"from 9 to 1; the rollback failed: no host", "quota", v1alpha1.RollbackFailed, "from 9 to 1; the rollback failed: quota"},
		{"from 9 to 1", "from 9 to 1; the rollback failed: quota", v1alpha1.RollbackFailed, "from 9 to 1; the rollback failed: quota"},
	} {
		if got := rollbackReason(test.was, test.cause, test.phase); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
	for name, test := range map[string]struct {
		phase        v1alpha1.Phase
		complete     *int32
		seen         int64
		half, isBack bool
	}{
		"half":             {v1alpha1.RollbackInProgress, ptr.To[int32](1), 1, true, false},
		"asked for anew":   {v1alpha1.RollbackInProgress, ptr.To[int32](1), 0, false, false},
		"back":             {v1alpha1.RollbackInProgress, ptr.To[int32](2), 1, false, true},
		"another phase":    {v1alpha1.UpdateInProgress, ptr.To[int32](1), 1, false, false},
		"back, complete":   {v1alpha1.RollbackComplete, ptr.To[int32](2), 1, false, false},
		"never had a size": {v1alpha1.RollbackInProgress, nil, 1, false, false},
	} {
		g := newGroup("gpu")
		g.Spec.NodeCount, g.Status.Phase, g.Status.CompleteNodeCount, g.Status.ObservedGeneration = 2, test.phase, test.complete, test.seen
		if halfBack(g) != test.half || isBack(g) != test.isBack {
			t.Errorf("%s: half %t, back %t", name, halfBack(g), isBack(g))
		}
	}
	for name, test := range map[string]struct {
		group   observe.Group
		trouble *trouble
		want    bool
	}{
		"it is back":        {observe.Group{Seen: true, Replicas: 1, Machines: 1}, nil, false},
		"fewer machines":    {observe.Group{Seen: true, Replicas: 1}, nil, false},
		"not seen":          {observe.Group{Replicas: 1, Machines: 1}, nil, true},
		"another size":      {observe.Group{Seen: true, Replicas: 9, Machines: 1}, nil, true},
		"machines are left": {observe.Group{Seen: true, Replicas: 1, Machines: 2}, nil, true},
		"trouble":           {observe.Group{}, &trouble{errors.New("x"), false}, false},
	} {
		p := wellPass()
		p.state.Workers, p.trouble = map[string]observe.Group{"default-worker": test.group}, test.trouble
		if got := p.goingBack(p.groups[0]); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhatIsNotRolledBack: without being asked for, without a size of before, or where the settings are what is wrong.
func TestWhatIsNotRolledBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rollback bool
		size     *int32
		trouble  *trouble
		want     bool
	}{
		"asked for":        {true, ptr.To[int32](1), nil, true},
		"trouble passes":   {true, ptr.To[int32](1), &trouble{errors.New("x"), false}, true},
		"trouble stays":    {true, ptr.To[int32](1), &trouble{errors.New("x"), true}, false},
		"not asked for":    {false, ptr.To[int32](1), nil, false},
		"it is new":        {true, nil, nil, false},
		"it has that size": {true, ptr.To[int32](9), nil, false},
	} {
		h := ready(t)
		h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 9 })
		p, g := h.look(), h.group("default-worker")
		p.cluster.Spec.Rollback, g.Status.CompleteNodeCount, p.trouble = test.rollback, test.size, test.trouble
		if back, err := p.rollBack(t.Context(), g); err != nil || back != test.want || (h.group("default-worker").Spec.NodeCount == 1) != test.want {
			t.Errorf("%s: %t, %v, %d nodes", name, back, err, h.group("default-worker").Spec.NodeCount)
		}
	}
}
