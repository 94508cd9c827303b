package runlog

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/redact"
)

const (
	// longest is how many bytes of events are kept of one run: the newest.
	longest = 1 << 20
	// patience is how long the store may take for one record.
	patience = 10 * time.Second
	// mostChanged and longestError bound a record.
	mostChanged, longestError = 500, 4000
)

// Recorder records runs. It is a Sink that keeps the events of the run there is; without
// one it drops them. Its zero value is ready, its methods are safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	store  Store
	record Record
	events bytes.Buffer
	heard  int // how many events there were
	known  redact.Known
	// stop ends the beat and waits until it writes nothing any more.
	stop func()
}

// Begin writes the record of a run that begins. An error means that the run is not
// recorded; it may continue all the same.
func (r *Recorder) Begin(ctx context.Context, store Store, record Record) error {
	record.ID = record.Started.UTC().Format("20060102T150405.000Z-") + strings.ToLower(rand.Text()[:6])
	record.Outcome, record.Beat, record.Changed = Running, record.Started, []string{}
	record.Command = string(r.known.Scrub([]byte(record.Command)))
	if err := put(ctx, store, record, nil); err != nil {
		return err
	}
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	r.mu.Lock()
	r.store, r.record, r.stop = store, record, func() { cancel(); <-ended }
	r.mu.Unlock()
	go func() {
		defer close(ended)
		r.beat(beating)
	}()
	return nil
}

// beat says from time to time that the run is there, and what it did. Whoever watches the run
// from a folder of this machine has the news at once.
func (r *Recorder) beat(ctx context.Context) {
	pace := beatEvery
	if _, local := r.store.(Folder); local {
		pace = newsEvery
	}
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	told := 0
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			r.mu.Lock()
			if r.heard == told && now.Sub(r.record.Beat) < beatEvery {
				r.mu.Unlock()
				continue
			}
			r.record.Beat, told = now, r.heard
			store, record, events := r.store, r.record, bytes.Clone(r.events.Bytes())
			r.mu.Unlock()
			if ctx.Err() == nil {
				_ = put(context.WithoutCancel(ctx), store, record, events) // the next one tells it
			}
		}
	}
}

// Emit keeps an event, without secrets.
func (r *Recorder) Emit(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop == nil {
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	var compact bytes.Buffer
	if json.Compact(&compact, r.known.Scrub(line)) != nil {
		return
	}
	compact.WriteByte('\n')
	r.events.Write(compact.Bytes())
	r.heard++
	for r.events.Len() > longest {
		if _, err := r.events.ReadBytes('\n'); err != nil {
			r.events.Reset()
		}
	}
	if e.State == event.Done && e.Message != "" && len(r.record.Changed) < mostChanged {
		r.record.Changed = append(r.record.Changed, string(r.known.Scrub([]byte(e.Step+": "+e.Message))))
	}
}

// End writes how the run ended. interrupted is set if somebody ended it.
func (r *Recorder) End(ctx context.Context, exit int, failure error, interrupted bool) error {
	r.mu.Lock()
	stop := r.stop
	r.stop = nil
	r.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop() // and wait: what a beat is writing must not come after the end
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.record.Ended, r.record.Beat, r.record.Exit, r.record.Outcome = now, now, exit, Succeeded
	switch {
	case interrupted:
		r.record.Outcome = Interrupted
	case failure != nil:
		r.record.Outcome = Failed
	}
	if failure != nil {
		text := r.known.Scrub([]byte(failure.Error()))
		r.record.Error = strings.ToValidUTF8(string(text[:min(len(text), longestError)]), "")
	}
	ctx = context.WithoutCancel(ctx)
	err := put(ctx, r.store, r.record, r.events.Bytes())
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		prune(ctx, r.store, r.record.Environment)
	}
	return err
}

// put writes a record and its events.
func put(ctx context.Context, store Store, record Record, events []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := json.MarshalIndent(record, "", " ")
	if err != nil {
		return err
	}
	if len(events) > 0 {
		if err := store.Put(ctx, eventsName(record.Environment, record.ID), events); err != nil {
			return err
		}
	}
	return store.Put(ctx, recordName(record.Environment, record.ID), text)
}
