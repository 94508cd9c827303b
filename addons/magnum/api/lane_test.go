package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
)

// TestALaneHasRoomForEveryProject, however many requests one of them sends.
func TestALaneHasRoomForEveryProject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLane("reads", 4)
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
			var answer *httpError
			if leave != nil || !errors.As(err, &answer) || answer.status != http.StatusServiceUnavailable || time.Since(begun) != queueTime {
				t.Fatalf("a request of %s: %v after %s", project, err, time.Since(begun))
			}
			if !strings.Contains(answer.detail, "busy with other reads") || !strings.Contains(answer.cause.Error(), project) {
				t.Errorf("told %s, logged %v", answer.detail, answer.cause)
			}
		}
		shop := []func(){enter("shop"), enter("shop")}
		refused("shop")
		bank := []func(){enter("bank"), enter("bank")}
		refused("mine")
		// Whoever waits gets the place of the first that is done.
		go func() {
			time.Sleep(queueTime / 2)
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
	l := newLane("reads", 1)
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

// held has requests for images wait.
type held struct {
	Lookup
	begun, end chan struct{}
}

func (h held) Image(ctx context.Context, t *keystone.Token, ref string) (openstack.Image, error) {
	h.begun <- struct{}{}
	<-h.end
	return h.Lookup.Image(ctx, t, ref)
}

// TestABusyServerAnswersWhatItCan: writes above the bound are to be tried again, and reads, the
// health check and other projects are served.
func TestABusyServerAnswersWhatItCan(t *testing.T) {
	t.Parallel()
	h := held{begun: make(chan struct{}, 3), end: make(chan struct{})}
	b := newBench(t, func(o *Options) { h.Lookup, o.MaxWrites = o.Cloud, 2; o.Cloud = h })
	b.server.writes.wait = 50 * time.Millisecond
	answers := make(chan *answer, 2)
	post := func(who string) { answers <- b.do(who, http.MethodPost, templates, templateBody()) }
	go post(member)
	<-h.begun
	a := b.do(other, http.MethodPost, templates, templateBody()).want(http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") == "" || !strings.Contains(a.text, "The server is busy with other writes. Try again.") {
		t.Errorf("%v %s", a.header, a.text)
	}
	b.do(member, http.MethodGet, templates, nil).want(http.StatusOK)
	b.do(nobody, http.MethodGet, "/healthcheck", nil).want(http.StatusOK)
	go post(alien)
	<-h.begun
	close(h.end)
	for range 2 {
		(<-answers).want(http.StatusCreated)
	}
	b.do(other, http.MethodPost, templates, templateBody()).want(http.StatusCreated)
}
