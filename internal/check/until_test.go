package check

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheCauseIsNotTheEndOfTheTime: a look that the time ended does not hide what the one before saw.
func TestTheCauseIsNotTheEndOfTheTime(t *testing.T) {
	t.Parallel()
	late, quota := errors.New("not done in time"), errors.New("over the quota")
	for name, test := range map[string]struct {
		looks []error
		want  string
	}{
		"a cause, then no time":      {[]error{quota, nil}, "not done in time; last: over the quota"},
		"no time for a look":         {[]error{nil}, "not done in time; last: context deadline exceeded"},
		"a cause that is gone again": {[]error{quota, errNotYet, nil}, "not done in time; last: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, late)
				defer cancel()
				look := 0
				err := (&run{}).until(ctx, func() (bool, error) {
					said := test.looks[look]
					look++
					if errors.Is(said, errNotYet) {
						return false, nil
					}
					if said != nil {
						return false, said
					}
					<-ctx.Done()
					return false, ctx.Err()
				})
				if err == nil || err.Error() != test.want {
					t.Errorf("told %v", err)
				}
			})
		})
	}
}

// errNotYet is a look that went well, and found that it is not done.
var errNotYet = errors.New("not yet")
