package worker

import (
	"context"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// terminate deletes Clusters, then the rest, and waits until all is gone.
type terminate struct{}

func (terminate) start(context.Context, *job) error { return nil }

func (terminate) process(ctx context.Context, j *job) (string, error) {
	return j.removeAll(ctx, j.instance.Status.Objects, machine.IsCluster)
}

func (terminate) undo(context.Context, *job) (string, error) { return "", noRollback("TERMINATE") }

func (terminate) finish(_ context.Context, j *job, completed bool) error {
	if !completed {
		return nil
	}
	s := &j.instance.Status
	s.State, s.Objects, s.Targets, s.Levels, s.Files, s.Release, s.Namespace, s.VIM, s.VIMSecret = v1alpha1.NotInstantiated, nil, nil, nil, nil, nil, "", nil, ""
	return nil
}
