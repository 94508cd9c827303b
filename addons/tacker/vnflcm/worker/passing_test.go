package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestPassing: what goes away by itself is waited for, also a webhook whose controller starts
// anew; what is wrong is not.
func TestPassing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a webhook is away": {apierrors.NewInternalError(errors.New(`failed calling webhook "validation.machinedeployment.cluster.x-k8s.io": connect: connection refused`)), true},
		"a conflict":        {apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, "c", errors.New("changed")), true},
		"no answer":         {context.DeadlineExceeded, true},
		"an internal error": {apierrors.NewInternalError(errors.New("broken")), false},
		"no token":          {apierrors.NewUnauthorized("ended"), false},
		"a refusal":         {refuse(422, "no"), false},
	} {
		if got := passing(fmt.Errorf("changing MachineDeployment a/b: %w", test.err)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
