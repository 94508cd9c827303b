package api

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
)

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

// TestABusyServerAnswersWhatItCan: writes above the bound are to be tried again, and count for
// their route; reads, the health check and other projects are served.
func TestABusyServerAnswersWhatItCan(t *testing.T) {
	t.Parallel()
	h := held{begun: make(chan struct{}, 3), end: make(chan struct{})}
	var refused atomic.Int32
	b := newBench(t, func(o *Options) {
		h.Lookup, o.MaxWrites, o.QueueTime = o.Cloud, 2, 50*time.Millisecond
		o.Cloud, o.Observe = h, func(method, route string, status int, _ time.Duration) {
			if method == http.MethodPost && route == templates && status == http.StatusServiceUnavailable {
				refused.Add(1)
			}
		}
	})
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
	if n := refused.Load(); n != 1 {
		t.Errorf("%d refused requests count for their route", n)
	}
}
