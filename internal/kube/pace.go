package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pace bounds how many definitions are applied at once: more, the quicker the API server
// answers. A large one costs it a second of its processor, and twenty on an emulated machine.
// It gives a request up after a minute, so eight at once ended there again and again, and
// nothing of that work was kept.
type pace struct {
	// places are those that are free.
	places chan struct{}

	mu  sync.Mutex
	all int
}

// An answer is quick or slow; between them nothing changes.
const (
	quickAnswer = time.Second
	slowAnswer  = 5 * time.Second
)

// firstPlaces are there before anything is known of the API server.
const firstPlaces = 2

func newPace() *pace {
	p := &pace{places: make(chan struct{}, applyParallel), all: firstPlaces}
	for range firstPlaces {
		p.places <- struct{}{}
	}
	return p
}

// paces are two, because quick answers for small definitions say nothing of large ones: an emulated
// API server answered a dozen small ones in a second each, and then none of eight large ones within
// five minutes.
type paces struct{ small, large *pace }

func newPaces() paces { return paces{newPace(), newPace()} }

// largeDefinition is from how many bytes of JSON on a definition is large. Those of kubeadm's
// providers have half a million.
const largeDefinition = 100 << 10

// of is the pace for a definition.
func (p paces) of(definition *unstructured.Unstructured) *pace {
	if text, err := definition.MarshalJSON(); err == nil && len(text) >= largeDefinition {
		return p.large
	}
	return p.small
}

// enter waits for a place.
func (p *pace) enter(ctx context.Context) error {
	select {
	case <-p.places:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave gives the place back: with another one if the answer was quick, and not at all if it
// was slow and other places are left.
func (p *pace) leave(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case took > slowAnswer && p.all > 1:
		p.all--
		return
	case took < quickAnswer && p.all < cap(p.places):
		p.all++
		p.places <- struct{}{}
	}
	p.places <- struct{}{}
}
