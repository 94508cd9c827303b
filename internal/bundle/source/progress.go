package source

import (
	"errors"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/slipway-sh/slipway/internal/event"
)

// progress tells how much of a build's work is done, by the weights of what is made.
type progress struct {
	sink    event.Sink
	weights map[string]weight

	mu   sync.Mutex
	step *event.Step
	// parts are how much of each result is made, from 0 to 1.
	parts map[string]float64
	told  int64 // the last percent
}

// wholeStep is the step of the whole build, beside those of its results.
const wholeStep = "bundle"

func newProgress(sink event.Sink) *progress {
	return &progress{sink: sink, weights: weights(), parts: map[string]float64{}, told: -1}
}

// add says that a result will be made.
func (p *progress) add(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts[name] = 0
}

// names are what will be made.
func (p *progress) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.parts))
}

// begin starts to tell, when all that will be made is known.
func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.parts) == 0 {
		return
	}
	p.step = event.Start(p.sink, wholeStep, "building")
	p.tell()
}

// compiled says how many packages of a program are there.
func (p *progress) compiled(name string, packages int) {
	if all := weightOf(p.weights, name).Packages; all > 0 {
		p.made(name, float64(packages)/float64(all))
	}
}

// made says how much of a result is there.
func (p *progress) made(name string, part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts[name] = max(p.parts[name], min(part, 1))
	p.tell()
}

// tell counts in processor seconds, once for each percent, under the lock.
func (p *progress) tell() {
	if p.step == nil {
		return
	}
	done, total := 0.0, 0.0
	for name, part := range p.parts {
		seconds := weightOf(p.weights, name).Seconds
		done, total = done+part*seconds, total+seconds
	}
	// Rounded down, so that only a build whose parts are all made is whole.
	all := int64(math.Ceil(total))
	now := int64(math.Floor(done/total*float64(all) + 1e-9))
	if percent := 100 * now / all; percent > p.told {
		p.told = percent
		p.step.Count(now, all, "processor seconds")
	}
}

// end ends the step. What failed is told by the results themselves.
func (p *progress) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step == nil {
		return
	}
	if err != nil {
		err = errors.New("not complete")
	}
	p.step.End("built", err)
}
