package kubernetes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What an API server says while control planes join is asked again; what stays
// wrong, and what nobody waits for any more, ends it.
func TestAnInstallationGoesOnWhileControlPlanesJoin(t *testing.T) {
	t.Parallel()
	joining, refused := errors.New("etcdserver: leader changed"), errors.New("forbidden")
	for name, test := range map[string]struct {
		answers []error
		times   int
		want    error
	}{
		"at once":          {[]error{nil}, 1, nil},
		"after two":        {[]error{joining, joining, nil}, 3, nil},
		"refused":          {[]error{refused, nil}, 1, refused},
		"refused later":    {[]error{joining, refused, nil}, 2, refused},
		"for ever joining": {[]error{joining}, 11, joining},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
				defer cancel()
				times, told := 0, 0
				err := insist(ctx, func(context.Context) error {
					times++
					return test.answers[min(times, len(test.answers))-1]
				}, func(string) { told++ })
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || times != test.times || told != times-1 {
					t.Errorf("%v after %d times, told %d times", err, times, told)
				}
			})
		})
	}
}
