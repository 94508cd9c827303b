package controller

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestTheNextPhase of a cluster or a group: a creation stays one until it is complete, what is complete
// does not fail by itself, and what failed and comes right after all is complete.
func TestTheNextPhase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		is                     v1alpha1.Phase
		changed, ready, failed bool
		want                   v1alpha1.Phase
	}{
		{"", false, false, false, v1alpha1.CreateInProgress}, {"", false, true, false, v1alpha1.CreateComplete}, {"", true, false, true, v1alpha1.CreateFailed},
		{v1alpha1.CreateInProgress, true, false, false, v1alpha1.CreateInProgress}, {v1alpha1.CreateInProgress, false, false, true, v1alpha1.CreateFailed},
		{v1alpha1.CreateFailed, true, false, false, v1alpha1.CreateInProgress}, {v1alpha1.CreateFailed, false, false, false, v1alpha1.CreateFailed},
		{v1alpha1.CreateFailed, false, true, false, v1alpha1.CreateComplete},
		{v1alpha1.CreateComplete, true, false, false, v1alpha1.UpdateInProgress}, {v1alpha1.CreateComplete, false, true, false, v1alpha1.CreateComplete},
		{v1alpha1.CreateComplete, false, false, true, v1alpha1.CreateComplete}, {v1alpha1.UpdateFailed, true, false, false, v1alpha1.UpdateInProgress},
		{v1alpha1.UpdateInProgress, false, true, true, v1alpha1.UpdateComplete}, {v1alpha1.UpdateInProgress, false, false, true, v1alpha1.UpdateFailed},
		{v1alpha1.UpdateComplete, true, true, false, v1alpha1.UpdateComplete}, {v1alpha1.UpdateComplete, true, false, true, v1alpha1.UpdateFailed},
		{v1alpha1.RollbackInProgress, false, true, false, v1alpha1.RollbackComplete}, {v1alpha1.RollbackComplete, true, false, false, v1alpha1.UpdateInProgress},
	} {
		if got := next(test.is, test.changed, test.ready, test.failed); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestPatienceWithACause is for those that only outside help ends; what is final ends at once.
func TestPatienceWithACause(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		cause observe.Cause
		ended bool
		left  time.Duration
	}{
		"final":        {observe.Cause{Final: true, Since: now}, true, 0},
		"passing":      {observe.Cause{Since: now.Add(-time.Hour)}, false, 0},
		"new":          {observe.Cause{Hopeless: true, Since: now.Add(-time.Minute)}, false, 4 * time.Minute},
		"old":          {observe.Cause{Hopeless: true, Since: now.Add(-time.Hour)}, true, 0},
		"just so long": {observe.Cause{Hopeless: true, Since: now.Add(-5 * time.Minute)}, true, 0},
	} {
		if ended, left := hopeless(test.cause, now, 5*time.Minute); ended != test.ended || left != test.left {
			t.Errorf("%s: ended %t, left %s", name, ended, left)
		}
	}
}

// TestARefusalIsAsOldAsItWasFirstMet: the time that it bears is that of the last question.
func TestARefusalIsAsOldAsItWasFirstMet(t *testing.T) {
	t.Parallel()
	p := &pass{reconciler: newReconciler(nil, nil, Options{Patience: 5 * time.Minute}), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, test := range []struct {
		after        time.Duration
		renew, ended bool
	}{{0, true, false}, {6 * time.Minute, true, true}, {0, false, false}} {
		p.now = p.now.Add(test.after)
		if ended, _ := p.hopeless(observe.Cause{Object: "credential", Hopeless: true, Renew: test.renew, Since: p.now}); ended != test.ended {
			t.Errorf("%+v: ended %t", test, ended)
		}
	}
}

// A condition that is not true for an hour may have become hopeless just now: patience begins then.
func TestACauseIsNoOlderThanItWasFirstMet(t *testing.T) {
	t.Parallel()
	p := &pass{reconciler: newReconciler(nil, nil, Options{Patience: 5 * time.Minute}), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	long := observe.Cause{Object: "Machine a", Reason: "etcd-unhealthy", Since: p.now.Add(-time.Hour)}
	for i, test := range []struct {
		after           time.Duration
		hopeless, ended bool
	}{{0, false, false}, {time.Minute, true, false}, {4 * time.Minute, true, false}, {time.Minute, true, true}} {
		p.now, long.Hopeless = p.now.Add(test.after), test.hopeless
		if ended, _ := p.hopeless(long); ended != test.ended {
			t.Errorf("step %d: ended %t", i, ended)
		}
	}
}

// wellPass is a pass over a cluster that is as it should be.
func wellPass() *pass {
	p := &pass{reconciler: newReconciler(nil, nil, Options{}.defaults()), cluster: &v1alpha1.Cluster{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	worker := newGroup("default-worker")
	worker.Status.Phase = v1alpha1.CreateComplete
	p.groups = []*v1alpha1.NodeGroup{worker}
	p.state = &observe.State{Exists: true, Infrastructure: true, ControlPlane: true, Available: true, Addons: true, Master: observe.Group{Exists: true, Settled: true},
		Health: map[string]string{"api": "ok"}, Healthy: true}
	return p
}

// TestConditionsSayWhatIsMissing, each of its own part of the cluster.
func TestConditionsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*pass)
		lacks  map[string]string
	}{
		"nothing":         {func(*pass) {}, nil},
		"the network":     {func(p *pass) { p.state.Infrastructure = false }, map[string]string{v1alpha1.ConditionInfrastructure: "NotReady"}},
		"an API server":   {func(p *pass) { p.state.ControlPlane = false }, map[string]string{v1alpha1.ConditionControlPlane: "NotReady"}},
		"a control plane": {func(p *pass) { p.state.Master.Settled = false }, map[string]string{v1alpha1.ConditionControlPlane: "NotReady"}},
		"workers":         {func(p *pass) { p.groups[0].Status.Phase = v1alpha1.UpdateInProgress }, map[string]string{v1alpha1.ConditionWorkers: "NotReady"}},
		"no workers, but masters": {func(p *pass) {
			p.groups[0].Spec.Role, p.groups[0].Status.Phase = v1alpha1.RoleMaster, v1alpha1.UpdateInProgress
		}, nil},
		"the end of a group":          {func(p *pass) { p.leaving = []*v1alpha1.NodeGroup{newGroup("gpu")} }, map[string]string{v1alpha1.ConditionWorkers: "NotReady"}},
		"addons":                      {func(p *pass) { p.state.Addons = false }, map[string]string{v1alpha1.ConditionAddons: "NotReady"}},
		"a cluster with addons":       {func(p *pass) { p.state.Exists = false }, map[string]string{v1alpha1.ConditionAddons: "NotReady"}},
		"workers for addons":          {func(p *pass) { p.state.WithoutWorkers = []string{"dns"} }, map[string]string{v1alpha1.ConditionAddons: "WithoutWorkers"}},
		"workers and addons":          {func(p *pass) { p.state.WithoutWorkers, p.state.Addons = []string{"dns"}, false }, map[string]string{v1alpha1.ConditionAddons: "NotReady"}},
		"a setting with an effect":    {func(p *pass) { p.warnings = []driver.Warning{{Setting: "x"}} }, map[string]string{v1alpha1.ConditionSettings: "WithoutEffect"}},
		"a rotation of authorities":   {func(p *pass) { p.cluster.Spec.CARotation = &v1alpha1.RotationRequest{ID: "r"} }, map[string]string{v1alpha1.ConditionCARotation: "NotSupported"}},
		"no rotation that was before": {func(p *pass) { p.cluster.Spec.CARotation = &v1alpha1.RotationRequest{ID: "old"} }, nil},
	} {
		p, s := wellPass(), &v1alpha1.ClusterStatus{CARotationID: "old"}
		test.change(p)
		p.conditions(s, true, "why")
		lacks := map[string]string{}
		for _, c := range s.Conditions {
			if c.Status != "True" {
				lacks[c.Type] = c.Reason
			}
		}
		if !maps.Equal(lacks, test.lacks) || !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady) {
			t.Errorf("%s: %+v", name, s.Conditions)
		}
	}
	p, s := wellPass(), &v1alpha1.ClusterStatus{}
	p.trouble = &trouble{errForeign, true}
	if p.conditions(s, false, "why"); meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSettings) != nil || meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("what was not rendered has settings: %+v", s.Conditions)
	}
}

// TestWhatWasKnownStays while it cannot be read.
func TestWhatWasKnownStays(t *testing.T) {
	t.Parallel()
	p := wellPass()
	known := v1alpha1.ClusterStatus{APIAddress: "https://a", COEVersion: "v1.34.2", ContainerVersion: "containerd://2", HealthStatus: v1alpha1.Healthy}
	p.state.Health = nil
	s := known
	if p.facts(&s); s.APIAddress != known.APIAddress || s.COEVersion != known.COEVersion || s.ContainerVersion != known.ContainerVersion || s.HealthStatus != v1alpha1.Healthy {
		t.Errorf("%+v", s)
	}
	p.state = &observe.State{Endpoint: "https://b", Version: "v1.35.0", Runtime: "containerd://3", Health: map[string]string{"api": "no answer"}}
	if p.facts(&s); s.APIAddress != "https://b" || s.COEVersion != "v1.35.0" || s.ContainerVersion != "containerd://3" || s.HealthStatus != v1alpha1.Unhealthy || s.HealthStatusReason["api"] != "no answer" {
		t.Errorf("%+v", s)
	}
	p.state.Healthy = true
	p.facts(&s)
	if _, told := s.HealthStatusReason["credential"]; s.HealthStatus != v1alpha1.Healthy || told {
		t.Errorf("%+v", s)
	}
}

// TestTheEndOfAnOperationIsAnEvent, once.
func TestTheEndOfAnOperationIsAnEvent(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.Rollback = true })
	h.pass()
	h.pass()
	var told []string
	for len(h.events.Events) > 0 {
		told = append(told, <-h.events.Events)
	}
	if want := []string{"Normal CREATE_COMPLETE the cluster is in the desired state", "Normal UPDATE_COMPLETE the cluster is in the desired state"}; !slices.Equal(told, want) {
		t.Errorf("events\n%s", strings.Join(told, "\n"))
	}
}
