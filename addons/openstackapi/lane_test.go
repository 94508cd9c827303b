package openstackapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestALaneHasRoomForEveryProject, however many requests one of them sends.
func TestALaneHasRoomForEveryProject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLane("reads", 4, QueueTime)
		enter := func(project string) func() {
			t.Helper()
			leave, err := l.enter(t.Context(), project)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		refused := func(project string) {
			t.Helper()
			begun := time.Now()
			leave, err := l.enter(t.Context(), project)
			var answer *Error
			if leave != nil || !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || time.Since(begun) != QueueTime {
				t.Fatalf("a request of %s: %v after %s", project, err, time.Since(begun))
			}
			if !strings.Contains(answer.Detail, "busy with other reads") || !strings.Contains(answer.Cause.Error(), project) {
				t.Errorf("told %s, logged %v", answer.Detail, answer.Cause)
			}
		}
		shop := []func(){enter("shop"), enter("shop")}
		refused("shop")
		bank := []func(){enter("bank"), enter("bank")}
		refused("mine")
		// Whoever waits gets the place of the first that is done.
		go func() {
			time.Sleep(QueueTime / 2)
			shop[0]()
		}()
		enter("mine")()
		bank[0]()
		enter("shop")()
		bank[1]()
		shop[1]()
		if len(l.projects) > 0 || len(l.places) > 0 {
			t.Errorf("left: %v, %d places", l.projects, len(l.places))
		}
	})
}

// TestAClientThatGoesWaitsNoLonger.
func TestAClientThatGoesWaitsNoLonger(t *testing.T) {
	t.Parallel()
	l := newLane("reads", 1, QueueTime)
	if _, err := l.enter(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{"shop", "bank"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := l.enter(ctx, project); !errors.Is(err, context.Canceled) {
			t.Errorf("a request of %s: %v", project, err)
		}
	}
	if len(l.projects) != 1 || len(l.projects["shop"].places) != 1 {
		t.Errorf("left: %v", l.projects)
	}
}
