package kube

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAWebhookThatIsAwayIsKnown(t *testing.T) {
	t.Parallel()
	away := apierrors.NewInternalError(errors.New(`failed calling webhook "a.b": failed to call webhook: Post "https://x.y.svc:443/": connect: connection refused`))
	helm := func(texts ...string) error {
		all := "cannot patch \"a\" with kind Cluster: " + away.Error()
		for _, text := range texts {
			all += " && cannot patch \"b\" with kind Machine: " + text
		}
		return fmt.Errorf("upgrading release a: %w", errors.New(all))
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":               {nil, false},
		"away":               {away, true},
		"wrapped":            {fmt.Errorf("applying: %w", away), true},
		"another fault":      {apierrors.NewInternalError(errors.New("etcd is full")), false},
		"denied":             {apierrors.NewForbidden(schema.GroupResource{Resource: "clusters"}, "a", errors.New("failed calling webhook")), false},
		"of an upgrade":      {helm(), true},
		"all of an upgrade":  {helm(away.Error(), away.Error()), true},
		"some of an upgrade": {helm(away.Error(), "admission webhook denied the request: no"), false},
		"another text":       {errors.New("failed calling webhook"), false},
	} {
		if got := WebhookAway(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
