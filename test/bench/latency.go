package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// listed is how many servers the list has that is measured.
const listed = 100

// latency measures calls one after another on one connection, from the request
// to the last byte of the answer.
func (b *bench) latency(ctx context.Context) ([]measure, error) {
	var last string
	for i := range listed {
		id, err := b.createServer(ctx, "list-"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		last = id
	}
	if err := b.settled(ctx, listed); err != nil {
		return nil, err
	}
	var all []measure
	for _, kind := range []struct {
		name string
		call func(i int) error
	}{
		{"GET a server", func(int) error { return b.call(ctx, http.MethodGet, b.compute+"servers/"+last, "", nil) }},
		{"GET a list of 100 servers", func(int) error { return b.call(ctx, http.MethodGet, b.compute+"servers?limit=100", "", nil) }},
		{"POST a port", func(i int) error { return b.createPort(ctx, "call-"+strconv.Itoa(i)) }},
	} {
		times, err := b.times(kind.call)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		all = append(all, newMeasure(kind.name+", median", milliseconds(quantile(times, 0.5)), "ms", 1),
			newMeasure(kind.name+", p99", milliseconds(quantile(times, 0.99)), "ms", 0))
	}
	return all, nil
}

// times measures the calls; the first tenth warms up and does not count.
func (b *bench) times(call func(i int) error) ([]time.Duration, error) {
	times := make([]time.Duration, 0, b.calls)
	for i := range b.calls + b.calls/10 {
		begin := time.Now()
		if err := call(i); err != nil {
			return nil, err
		}
		if i >= b.calls/10 {
			times = append(times, time.Since(begin))
		}
	}
	return times, nil
}

// settled waits until so many servers are active.
func (b *bench) settled(ctx context.Context, count int) error {
	for {
		active, err := b.pages(ctx, b.compute+"servers?status=ACTIVE&limit=1000", "servers")
		if err != nil || active >= count {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
