package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cluster(phase Phase, generation, observed int64, deleted bool) *Cluster {
	c := &Cluster{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
	c.Status.Phase, c.Status.ObservedGeneration = phase, observed
	if deleted {
		now := metav1.Now()
		c.DeletionTimestamp = &now
	}
	return c
}

func group(phase Phase, generation, observed int64, deleted bool) *NodeGroup {
	c := cluster(phase, generation, observed, deleted)
	g := &NodeGroup{ObjectMeta: c.ObjectMeta}
	g.Status.Phase, g.Status.ObservedGeneration = phase, observed
	return g
}

func TestClusterEffectivePhase(t *testing.T) {
	t.Parallel()
	quiet := group(CreateComplete, 1, 1, false)
	tests := map[string]struct {
		cluster *Cluster
		groups  []*NodeGroup
		want    Phase
	}{
		"new":                           {cluster("", 1, 0, false), nil, CreateInProgress},
		"changed while being created":   {cluster(CreateInProgress, 2, 1, false), nil, CreateInProgress},
		"complete":                      {cluster(CreateComplete, 1, 1, false), []*NodeGroup{quiet}, CreateComplete},
		"changed":                       {cluster(CreateComplete, 2, 1, false), nil, UpdateInProgress},
		"changed after a failed update": {cluster(UpdateFailed, 2, 1, false), nil, UpdateInProgress},
		"a group resized":               {cluster(UpdateComplete, 2, 2, false), []*NodeGroup{quiet, group(CreateComplete, 2, 1, false)}, UpdateInProgress},
		"a group added":                 {cluster(CreateComplete, 2, 2, false), []*NodeGroup{group("", 1, 0, false)}, UpdateInProgress},
		"a group being deleted":         {cluster(CreateComplete, 2, 2, false), []*NodeGroup{group(UpdateComplete, 2, 2, true)}, UpdateInProgress},
		"failed before its groups":      {cluster(CreateFailed, 1, 1, false), []*NodeGroup{group("", 1, 0, false)}, CreateFailed},
		"deleted":                       {cluster(CreateComplete, 2, 1, true), nil, DeleteInProgress},
		"deleted before it was seen":    {cluster("", 2, 0, true), nil, DeleteInProgress},
		"not deletable":                 {cluster(DeleteFailed, 2, 2, true), nil, DeleteFailed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.cluster.EffectivePhase(test.groups); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestNodeGroupEffectivePhase(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		group   *NodeGroup
		cluster *Cluster
		want    Phase
	}{
		"new":                    {group("", 1, 0, false), nil, CreateInProgress},
		"resized":                {group(CreateComplete, 2, 1, false), nil, UpdateInProgress},
		"resized while created":  {group(CreateInProgress, 2, 1, false), nil, CreateInProgress},
		"complete":               {group(UpdateComplete, 2, 2, false), cluster(CreateComplete, 1, 1, false), UpdateComplete},
		"deleted":                {group(UpdateComplete, 3, 2, true), nil, DeleteInProgress},
		"not deletable":          {group(DeleteFailed, 3, 3, true), nil, DeleteFailed},
		"its cluster is deleted": {group(UpdateComplete, 2, 2, false), cluster(CreateComplete, 2, 1, true), DeleteInProgress},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.group.EffectivePhase(test.cluster); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Shop_Prod.1": "shop-prod-1", "--a--": "a", "gpu_1": "gpu-1", "Grün 7": "gr-n-7", "": "",
	} {
		if got := Sanitise(in); got != want {
			t.Errorf("Sanitise(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Namespace("3F1d-5a0B_x"); got != "magnum-3f1d5a0bx" {
		t.Errorf("namespace %q", got)
	}
}

func TestEffectiveLabels(t *testing.T) {
	t.Parallel()
	c := &Cluster{}
	c.Spec.Template = &TemplateSnapshot{TemplateValues: TemplateValues{Labels: map[string]string{"a": "1", "b": "1"}}}
	if got := c.EffectiveLabels(); len(got) != 2 || got["a"] != "1" {
		t.Errorf("none of its own: %v", got)
	}
	c.Spec.Labels = map[string]string{"b": "2"}
	if got := c.EffectiveLabels(); len(got) != 1 || got["b"] != "2" {
		t.Errorf("replacing: %v", got)
	}
	c.Spec.MergeLabels = true
	if got := c.EffectiveLabels(); len(got) != 2 || got["b"] != "2" {
		t.Errorf("merging: %v", got)
	}
	g := &NodeGroup{}
	if got := g.EffectiveLabels(c); len(got) != 2 {
		t.Errorf("a group without: %v", got)
	}
	c.Spec.NoLabels = true
	if got := c.EffectiveLabels(); len(got) != 2 {
		t.Errorf("labels all the same: %v", got)
	}
	c.Spec.Labels = nil
	if got := g.EffectiveLabels(c); len(got) != 0 {
		t.Errorf("none, also not the template's: %v", got)
	}
}

// TestPhases: each is going on, the end of a failure or a good end; what is deleted is none.
func TestPhases(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase][3]bool{
		"": {true, false, false}, CreateInProgress: {true, false, false}, DeleteInProgress: {true, false, false}, RollbackInProgress: {true, false, false},
		CreateFailed: {false, true, false}, DeleteFailed: {false, true, false}, RollbackFailed: {false, true, false},
		CreateComplete: {false, false, true}, UpdateComplete: {false, false, true}, RollbackComplete: {false, false, true}, DeleteComplete: {},
	} {
		if got := [3]bool{phase.InProgress(), phase.Failed(), phase.Complete()}; got != want {
			t.Errorf("%q: in progress, failed, complete: %v", phase, got)
		}
	}
}
