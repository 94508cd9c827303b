package down

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// TestAWokenSeedMayFalterOnce: a k3s that starts answers, and then refuses connections for
// some seconds. What stays is told with its own words at the end, what is final at once.
func TestAWokenSeedMayFalterOnce(t *testing.T) {
	t.Parallel()
	refused := unread("seed", errors.New("dial tcp 172.24.4.12:6443: connect: connection refused"))
	final := unread("seed", vain.Final(errors.New("reading the kubeconfig")))
	for name, test := range map[string]struct {
		answers []error // one a try, the last one for ever
		want    error
		within  time.Duration
	}{
		"answers":           {[]error{nil}, nil, 0},
		"falters":           {[]error{refused, refused, refused, nil}, nil, 3 * lookPause},
		"never answers":     {[]error{refused}, refused, lookTime},
		"refuses the login": {[]error{refused, final, nil}, final, lookPause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), lookTime)
				defer cancel()
				begin, tries, told := time.Now(), 0, 0
				_, err := patiently(ctx, func(context.Context) (parent, error) {
					tries++
					return parent{}, test.answers[min(tries, len(test.answers))-1]
				}, func(error) { told++ })
				if !errors.Is(err, test.want) || time.Since(begin) > test.within || (told > 0) != (tries > 1) {
					t.Errorf("%v after %s and %d tries", err, time.Since(begin), tries)
				}
				if err != nil && fault.Remedy(err) == "" {
					t.Error("no fix")
				}
			})
		})
	}
}
