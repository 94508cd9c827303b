package kube

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestARequestIsRepeatedWhileControlPlanesJoin: what an API server says meanwhile is asked
// again; what stays wrong, and what nobody waits for any more, ends it.
func TestARequestIsRepeatedWhileControlPlanesJoin(t *testing.T) {
	t.Parallel()
	starting := fmt.Errorf("listing: %w", apierrors.NewServiceUnavailable("the server is currently unable to handle the request"))
	joining, refused, ended := errors.New("etcdserver: leader changed"), errors.New("forbidden"), errors.New("out of time")
	nobody := errors.New("answers before the time is over")
	for name, test := range map[string]struct {
		answers     []error
		times, told int
		want        []error
	}{
		"at once":          {[]error{nil}, 1, 0, nil},
		"after two":        {[]error{joining, joining, nil}, 3, 2, nil},
		"refused":          {[]error{refused, nil}, 1, 0, []error{refused}},
		"refused later":    {[]error{joining, refused, nil}, 2, 1, []error{refused}},
		"starting":         {[]error{starting, joining, nil}, 3, 2, nil},
		"for ever joining": {[]error{joining}, 10, 10, []error{ended, joining}},
		"cut off":          {[]error{joining, nobody}, 2, 1, []error{ended, joining}},
		"cut off at once":  {[]error{nobody}, 1, 0, []error{context.DeadlineExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), 9500*time.Millisecond, ended)
				defer cancel()
				times, told := 0, 0
				err := Insist(ctx, Busy, func(error) { told++ }, func(ctx context.Context) error {
					times++
					answer := test.answers[min(times, len(test.answers))-1]
					if answer == nobody {
						<-ctx.Done()
						return fmt.Errorf("asking: %w", ctx.Err())
					}
					return answer
				})
				for _, want := range test.want {
					if !errors.Is(err, want) {
						t.Errorf("%v is not %v", err, want)
					}
				}
				if (err == nil) != (test.want == nil) || times != test.times || told != test.told {
					t.Errorf("%v after %d times, told %d times", err, times, told)
				}
			})
		})
	}
}
