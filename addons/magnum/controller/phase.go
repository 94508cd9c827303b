package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// next is the phase after a look. changed says that what is wanted changed
// since the last look, ready that it is so now, failed that it will not be.
// What failed and then came right after all is complete.
func next(p v1alpha1.Phase, changed, ready, failed bool) v1alpha1.Phase {
	switch {
	case p == "" || changed && (p == v1alpha1.CreateInProgress || p == v1alpha1.CreateFailed):
		p = v1alpha1.CreateInProgress
	case changed:
		p = v1alpha1.UpdateInProgress
	}
	switch {
	case p.Complete():
		return p
	case ready:
		return end(p, "_COMPLETE")
	case failed:
		return end(p, "_FAILED")
	}
	return p
}

// end is how an operation ends: CREATE_IN_PROGRESS as CREATE_COMPLETE.
func end(p v1alpha1.Phase, how string) v1alpha1.Phase {
	operation, _, _ := strings.Cut(string(p), "_")
	return v1alpha1.Phase(operation + how)
}

// hopeless is the same as the function, for a cause no older than when it was first met: a
// condition bears the time at which its status changed, and may say something else since then.
func (p *pass) hopeless(c observe.Cause) (ended bool, left time.Duration) {
	if c.Hopeless {
		// A refused credential bears the time of the last question.
		if met := p.first.met(p.key, causeKey(c), p.now); c.Renew || c.Since.Before(met) {
			c.Since = met
		}
	}
	return hopeless(c, p.now, p.Patience)
}

// forgetCauses forgets causes that are no more.
func (p *pass) forgetCauses(present []observe.Cause) {
	p.first.keep(p.key, func(what string) bool {
		return what == aTrouble || slices.ContainsFunc(present, func(c observe.Cause) bool { return causeKey(c) == what })
	})
}

// causeKey is what the memory calls a cause, whatever its words: they change while it lasts.
func causeKey(c observe.Cause) string { return c.Reason + " " + c.Object }

// hopeless reports whether a cause ends an operation: at once where the provider has given up,
// after a while where only outside help cures it. Otherwise left is when to look again; 0 is "when
// something happens".
func hopeless(c observe.Cause, now time.Time, patience time.Duration) (ended bool, left time.Duration) {
	switch {
	case c.Final:
		return true, 0
	case !c.Hopeless:
		return false, 0
	}
	if left = patience - now.Sub(c.Since); left <= 0 {
		return true, 0
	}
	return false, left
}
