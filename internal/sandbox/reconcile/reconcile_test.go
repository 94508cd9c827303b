package reconcile_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/reconcile"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type record struct {
	ID string `json:"id"`
}

func start(t *testing.T, work reconcile.Work, events event.Sink, ids ...string) (*store.Store, *store.Table[record]) {
	t.Helper()
	s, err := store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	table := store.NewTable(s, "records", func(r record) string { return r.ID })
	_ = s.Update(func(tx *store.Tx) error {
		for _, id := range ids {
			table.Put(tx, record{id})
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	loop := reconcile.Loop{Name: "records", Feed: table.Subscribe(), Work: work, Workers: 4, Clock: clock.RealClock{}, Events: events}
	go func() { defer close(ended); loop.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s, table
}

func expect(t *testing.T, got <-chan string, want string) {
	t.Helper()
	select {
	case id := <-got:
		if id != want {
			t.Fatalf("worked on %s, want %s", id, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("nobody worked on %s", want)
	}
}

func TestWorksOnWhatThereIsAndWhatChanges(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	s, table := start(t, func(_ context.Context, id string) (time.Duration, error) { got <- id; return 0, nil }, event.Discard{}, "old")
	expect(t, got, "old")
	_ = s.Update(func(tx *store.Tx) error { table.Put(tx, record{"new"}); return nil })
	expect(t, got, "new")
	_ = s.Update(func(tx *store.Tx) error { table.Delete(tx, "old"); return nil })
	expect(t, got, "old")
}

func TestRetriesAfterErrorsAndAgain(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	events := &event.Recorder{}
	calls := 0
	start(t, func(_ context.Context, id string) (time.Duration, error) {
		calls++
		got <- id
		switch calls {
		case 1:
			return 0, errors.New("boom")
		case 2:
			return time.Millisecond, nil
		}
		return 0, nil
	}, events, "a")
	for range 3 {
		expect(t, got, "a")
	}
	if told := events.Events(); len(told) != 1 || told[0].Error != "a: boom" {
		t.Errorf("told %+v", told)
	}
}

func TestNeverTwiceAtATimeForOneRecord(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	working, most, done := 0, 0, make(chan string, 1000)
	s, table := start(t, func(context.Context, string) (time.Duration, error) {
		mu.Lock()
		working++
		most = max(most, working)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		working--
		mu.Unlock()
		done <- "a"
		return 0, nil
	}, event.Discard{}, "a")
	for range 50 {
		_ = s.Update(func(tx *store.Tx) error { table.Put(tx, record{"a"}); return nil })
		time.Sleep(200 * time.Microsecond)
	}
	expect(t, done, "a")
	mu.Lock()
	defer mu.Unlock()
	if most != 1 {
		t.Errorf("%d workers at a time", most)
	}
}
