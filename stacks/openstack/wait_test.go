package openstack

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestEveryWaitOfTheCloudEnds: within 45 s if the cloud has given up, and after a long time
// if it neither goes on nor says anything. A state that is left in time ends nothing.
func TestEveryWaitOfTheCloudEnds(t *testing.T) {
	t.Parallel()
	began := func(since time.Time, after time.Duration) bool { return time.Since(since) > after }
	for name, test := range map[string]struct {
		check       func(since time.Time) (string, bool, error)
		want        string
		least, most time.Duration
	}{
		"the cloud has given up": {func(time.Time) (string, bool, error) { return vainly + "the server is in ERROR", false, nil },
			"the server is in ERROR; it stays so for 30s", 30 * time.Second, 45 * time.Second},
		"only for a moment": {func(since time.Time) (string, bool, error) {
			if began(since, 20*time.Second) {
				return "deleting", began(since, 2*time.Minute), nil
			}
			return vainly + "the server is ACTIVE", false, nil
		}, "", 2 * time.Minute, 3 * time.Minute},
		"nothing changes": {func(time.Time) (string, bool, error) { return "load balancer is PENDING_DELETE", false, nil },
			"load balancer is PENDING_DELETE, and has not changed for 30m0s", stall, stall + time.Minute},
		"it moves": {func(since time.Time) (string, bool, error) {
			return time.Since(since).Truncate(time.Minute).String(), began(since, 2*time.Hour), nil
		}, "", 2 * time.Hour, 3 * time.Hour},
		"an error": {func(time.Time) (string, bool, error) { return "", false, errors.New("quota") }, "quota", 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				since := time.Now()
				err := wait(t.Context(), func() (string, bool, error) { return test.check(since) })
				took := time.Since(since)
				if took < test.least || took > test.most {
					t.Errorf("it took %s", took)
				}
				if test.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
