package worker

import (
	"context"
	"net/http"
)

// scale sets the numbers of machines, which follow from the levels alone: however often
// it runs, they are the same.
type scale struct{}

func (scale) start(ctx context.Context, j *job) error {
	for _, t := range j.instance.Status.Targets {
		if t.Count(j.op.Spec.Levels) == t.Count(j.instance.Status.Levels) {
			continue
		}
		if there, err := j.find(ctx, t.ObjectRef); err != nil {
			return err
		} else if there == nil {
			return refuse(http.StatusConflict, "%s %s/%s does not exist", t.Kind, t.Namespace, t.Name)
		}
	}
	return nil
}

func (scale) process(ctx context.Context, j *job) (string, error) {
	return j.converge(ctx, j.op.Spec.Levels)
}

func (j *job) converge(ctx context.Context, levels map[string]int32) (string, error) {
	for _, t := range j.instance.Status.Targets {
		if err := j.replicas(ctx, t, t.Count(levels)); err != nil {
			return "", err
		}
	}
	return j.rolled(ctx, j.instance.Status.Targets, levels)
}

func (scale) undo(ctx context.Context, j *job) (string, error) {
	if j.params.Type != "SCALE_OUT" {
		return "", noRollback("SCALE_IN")
	}
	return j.converge(ctx, j.instance.Status.Levels)
}

func noRollback(what string) error {
	return refuse(http.StatusUnprocessableEntity, "%s cannot be rolled back; retry it or let it fail", what)
}

func (scale) finish(_ context.Context, j *job, completed bool) error {
	if completed {
		j.instance.Status.Levels = j.op.Spec.Levels
	}
	return nil
}
