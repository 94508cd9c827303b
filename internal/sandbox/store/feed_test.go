package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func TestFeed(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	p.put(t, port{ID: "a"}, port{ID: "b"})
	feed := p.all.Subscribe()
	defer feed.Close()
	expect(t, "what there is", drain(t, feed, 2), []string{"a", "b"})
	p.put(t, port{ID: "a", Name: "1"})
	p.put(t, port{ID: "c"})
	p.put(t, port{ID: "a", Name: "2"})
	_ = p.Update(func(tx *store.Tx) error { p.all.Delete(tx, "b"); return nil })
	expect(t, "changes, once each", drain(t, feed, 3), []string{"a", "c", "b"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if id, err := feed.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a feed without changes gave %q, %v", id, err)
	}
}

func TestFeedWakesItsReader(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	feed := p.all.Subscribe()
	defer feed.Close()
	got := make(chan string)
	go func() {
		id, _ := feed.Next(t.Context())
		got <- id
	}()
	p.put(t, port{ID: "late"})
	select {
	case id := <-got:
		if id != "late" {
			t.Errorf("got %q", id)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the reader was not woken")
	}
}

func drain(t *testing.T, feed *store.Feed, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var ids []string
	for range n {
		id, err := feed.Next(ctx)
		if err != nil {
			t.Fatalf("after %v: %v", ids, err)
		}
		ids = append(ids, id)
	}
	return ids
}
