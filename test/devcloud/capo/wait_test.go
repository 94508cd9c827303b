package capo

import (
	"errors"
	"testing"
	"time"
)

// fatal is an error that waiting does not cure.
type fatal struct{ error }

// eventually polls until there is no error.
func eventually(t *testing.T, what string, patience time.Duration, check func() error) {
	t.Helper()
	begin := time.Now()
	for {
		err := check()
		if err == nil {
			if took := time.Since(begin); took > time.Second {
				t.Logf("%5.1f s for: %s", took.Seconds(), what)
			}
			return
		}
		if end := (fatal{}); errors.As(err, &end) || time.Since(begin) > patience {
			t.Fatalf("%s: not after %s: %v", what, time.Since(begin).Round(time.Second), err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// need returns what a call did, or ends the test.
func need[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
