package server

import (
	"context"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Seen is the mark behind events: whoever watches and meets it has had all
// events up to that revision, also if none of them were of its keys.
func Seen(revision int64) *Event { return &Event{KV: &KeyValue{ModRevision: revision}} }

// IsSeen says that this is a mark and no event, which has a key.
func (e *Event) IsSeen() bool { return e.KV.Key == "" }

// Raise sets a revision unless it is higher already.
func Raise(revision *atomic.Int64, to int64) {
	for {
		old := revision.Load()
		if old >= to || revision.CompareAndSwap(old, to) {
			return
		}
	}
}

// ask asks each watch for its progress, when it has come to the revision that is
// the newest now. It is for [util.PollWithContext], too, and never ends that.
func (w *watcher) ask(ctx context.Context) (bool, error) {
	revision, err := w.backend.CurrentRevision(ctx)
	if err != nil {
		logrus.Errorf("Failed to get current revision for ProgressNotify: %v", err)
		return false, nil
	}
	w.RLock()
	defer w.RUnlock()
	for _, progressCh := range w.progress {
		select {
		case progressCh <- revision:
		default: // it has not looked at the last question yet
		}
	}
	return false, nil
}

// progress is how far one watch has come. Only its own goroutine has it.
type progress struct {
	start int64 // where the watch begins
	seen  int64 // all up to it was sent
	asked int64 // to be answered from there on; 0 is nothing
}

// take returns the events without the marks.
func (p *progress) take(events []*Event) []*Event {
	rest := events[:0:0]
	for _, event := range events {
		p.seen = max(p.seen, event.KV.ModRevision)
		if !event.IsSeen() {
			rest = append(rest, event)
		}
	}
	return rest
}

// answer sends the progress that was asked for, if the watch has come so far.
// It follows the events that it tells of.
func (p *progress) answer(w *watcher, id int64) {
	if p.asked == 0 || p.seen < p.asked || p.seen+1 < p.start {
		return
	}
	p.asked = 0
	if err := w.server.Send(&etcdserverpb.WatchResponse{Header: txnHeader(p.seen), WatchId: id}); err != nil {
		w.Cancel(id, 0, 0, err)
	}
}
