package stacks_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// span is when a step began and ended.
type span struct{ from, to time.Time }

func (s span) took() time.Duration { return s.to.Sub(s.from) }

// overlap is how long both were at work.
func (s span) overlap(o span) time.Duration {
	from, to := s.from, s.to
	if o.from.After(from) {
		from = o.from
	}
	if o.to.Before(to) {
		to = o.to
	}
	return to.Sub(from)
}

// spans are those of the steps that are done, by the events of a run.
func spans(events []event.Event) map[string]span {
	all := map[string]span{}
	for _, e := range events {
		s := all[e.Step]
		if s.from.IsZero() {
			s.from = e.Time
		}
		if e.State == event.Done {
			s.to = e.Time
		}
		all[e.Step] = s
	}
	return all
}

// patience is how long one step of the test waits for another. It is over only if the other
// comes later by the order of steps.
const patience = time.Minute

// TestImagesNetworkAndK3sAreMadeAtOnce: the making of the network takes until the upload of the
// nodes' image has begun, and that upload until k3s is installed. So they end only if they are at
// work at the same time; one after the other, each would wait in vain for a minute. What a run
// wrote into its events has it so, and the whole takes less than the sum.
//
// proves: F63
func TestImagesNetworkAndK3sAreMadeAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec: {managementCluster: {controlPlane: {count: 1}}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage, w.env.Choices.ImageID = w.env.Image, w.someImage(t)
	uploading, installed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	wait := func(what string, other <-chan struct{}) {
		select {
		case <-other:
		case <-time.After(patience):
			t.Errorf("%s waited in vain: the steps are made one after the other", what)
		}
	}
	w.installK3s = func() { time.Sleep(time.Second); close(installed) }
	w.clients.calls.before = func(r *http.Request) {
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v2.0/networks"):
			wait("the network", uploading)
			time.Sleep(time.Second)
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/file"):
			once.Do(func() { close(uploading) })
			wait("the upload", installed)
		}
	}
	w.up(t)

	at := spans(w.events.Events())
	steps := []string{stacks.StepNetwork, stacks.StepNodeImage, stacks.StepK3s}
	whole, total := at[stacks.StepNetwork], time.Duration(0)
	for _, step := range steps {
		s := at[step]
		if s.took() <= 0 {
			t.Fatalf("%s is not among the events with its begin and its end: %+v", step, s)
		}
		if total += s.took(); s.from.Before(whole.from) {
			whole.from = s.from
		}
		if s.to.After(whole.to) {
			whole.to = s.to
		}
		t.Logf("%s took %s", step, s.took().Round(time.Millisecond))
	}
	for _, other := range []string{stacks.StepNetwork, stacks.StepK3s} {
		if both := at[stacks.StepNodeImage].overlap(at[other]); both < time.Second/2 {
			t.Errorf("%s and the upload of the image were at work at the same time for %s", other, both)
		}
	}
	if t.Logf("the three took %s, their sum is %s", whole.took().Round(time.Millisecond), total.Round(time.Millisecond)); whole.took() >= total {
		t.Errorf("the three took %s, no less than one after the other: %s", whole.took(), total)
	}
}

// someImage is an image that the cloud has.
func (w *world) someImage(t *testing.T) string {
	t.Helper()
	client := must[*gophercloud.ServiceClient](t)(w.clients.Image())
	image := must[*images.Image](t)(images.Create(t.Context(), client, images.CreateOpts{Name: "debian", DiskFormat: "raw", ContainerFormat: "bare"}).Extract())
	if err := imagedata.Upload(t.Context(), client, image.ID, strings.NewReader("an image")).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	return image.ID
}
