package kubernetes

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// patient bounds a wait by the time without progress instead of its whole time: an
// emulated machine takes ten times as long as a real one, but it moves. The returned
// function shows what is waited for; a text that differs from the last one is progress.
// When nothing has changed for the limit, the context ends with the cause.
func patient(ctx context.Context, limit time.Duration, what string) (bounded context.Context, tell func(string), stop func()) {
	return patiently(ctx, limit, what, func(text string) { status(ctx, text) })
}

// patiently is patient for those who show progress elsewhere.
func patiently(ctx context.Context, limit time.Duration, what string, show func(string)) (bounded context.Context, tell func(string), stop func()) {
	bounded, end := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { end(fmt.Errorf("%s: nothing has changed for %s", what, limit)) })
	var lock sync.Mutex
	last := ""
	tell = func(text string) {
		show(text)
		lock.Lock()
		defer lock.Unlock()
		// A timer that has fired stays fired: the context has ended.
		if text != last && timer.Stop() {
			timer.Reset(limit)
		}
		last = text
	}
	return bounded, tell, func() { timer.Stop(); end(nil) }
}
