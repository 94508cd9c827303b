package clusterapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestADeletionOutlastsAControllerThatStarts: a webhook that is away for a while is asked
// again. A refusal is final, and so is a webhook that stays away.
func TestADeletionOutlastsAControllerThatStarts(t *testing.T) {
	t.Parallel()
	away := apierrors.NewInternalError(errors.New(`failed calling webhook "validation.openstackcluster.v1beta1": connect: connection refused`))
	refused := apierrors.NewBadRequest("no")
	ended := errors.New("out of time")
	for name, c := range map[string]struct {
		answers func(asked int) error
		limit   time.Duration
		want    error
		asked   int
	}{
		"away for a moment": {func(asked int) error {
			if asked < 4 {
				return away
			}
			return nil
		}, time.Hour, nil, 4},
		"refused":       {func(int) error { return refused }, time.Hour, refused, 1},
		"away for ever": {func(int) error { return away }, time.Hour, away, 122},
		"no time left":  {func(int) error { return away }, 10*time.Second + time.Millisecond, ended, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeoutCause(t.Context(), c.limit, ended)
				defer stop()
				asked := 0
				err := judged(ctx, func(context.Context) error { asked++; return c.answers(asked) })
				if !errors.Is(err, c.want) || asked != c.asked {
					t.Errorf("%v after %d times", err, asked)
				}
			})
		})
	}
}
