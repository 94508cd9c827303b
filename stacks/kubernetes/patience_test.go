package kubernetes

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A wait goes on while something changes, and ends with its cause when nothing does.
func TestPatienceEndsWithoutProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, tell, stop := patient(t.Context(), time.Minute, "the controllers are not available")
		defer stop()
		for _, text := range []string{"1 of 3", "2 of 3", "3 of 3"} {
			time.Sleep(50 * time.Second)
			tell(text)
		}
		if ctx.Err() != nil {
			t.Fatalf("it ended although it progressed: %v", context.Cause(ctx))
		}
		time.Sleep(50 * time.Second)
		tell("3 of 3") // the same again is no progress
		time.Sleep(11 * time.Second)
		if cause := context.Cause(ctx); cause == nil || !strings.Contains(cause.Error(), "not available: nothing has changed for 1m0s") {
			t.Errorf("ended with %v", cause)
		}
	})
}

func TestPatienceStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, tell, stop := patient(t.Context(), time.Minute, "it is not there")
		stop()
		tell("too late")
		if cause := context.Cause(ctx); cause != context.Canceled {
			t.Errorf("a wait that was over ended with %v", cause)
		}
	})
}
