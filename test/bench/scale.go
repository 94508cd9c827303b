package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// workers is how many clients make servers and ports at once.
const workers = 4

// scale makes servers and ports, lists them page by page, and compares the
// most memory that the process ever had with what it had before.
func (b *bench) scale(ctx context.Context) ([]measure, error) {
	before, err := b.box.memory("VmRSS")
	if err != nil {
		return nil, err
	}
	have, err := b.pages(ctx, b.compute+"servers?limit=1000", "servers")
	if err != nil {
		return nil, err
	}
	var all []measure
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{fmt.Sprintf("create %d servers", b.servers), func() error {
			err := b.many(ctx, b.servers, func(ctx context.Context, name string) error { _, err := b.createServer(ctx, name); return err })
			if err != nil {
				return err
			}
			return b.settled(ctx, have+b.servers)
		}},
		{fmt.Sprintf("create %d ports", b.ports), func() error { return b.many(ctx, b.ports, b.createPort) }},
		{fmt.Sprintf("list the servers by %d", b.limit), func() error {
			return b.atLeast(ctx, fmt.Sprintf("%sservers/detail?limit=%d", b.compute, b.limit), "servers", b.servers)
		}},
		{fmt.Sprintf("list the ports by %d", b.limit), func() error {
			return b.atLeast(ctx, fmt.Sprintf("%sports?limit=%d", b.network, b.limit), "ports", b.servers+b.ports)
		}},
	} {
		begin := time.Now()
		if err := step.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		all = append(all, newMeasure(step.name, time.Since(begin).Seconds(), "s", 0))
	}
	peak, err := b.box.memory("VmHWM")
	if err != nil {
		return nil, err
	}
	return append(all, newMeasure("growth of memory at the most", peak-before, "MiB", 300)), nil
}

// many makes so many things, with a few clients at once.
func (b *bench) many(ctx context.Context, count int, create func(context.Context, string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range count {
		group.Go(func() error { return create(ctx, "scale-"+strconv.Itoa(i)) })
	}
	return group.Wait()
}

func (b *bench) atLeast(ctx context.Context, url, key string, want int) error {
	got, err := b.pages(ctx, url, key)
	if err == nil && got < want {
		err = fmt.Errorf("listed %d, made %d", got, want)
	}
	return err
}

// pages follows the links of a list to its end, and counts.
func (b *bench) pages(ctx context.Context, url, key string) (count int, err error) {
	for url != "" {
		var page map[string]json.RawMessage
		if err := b.call(ctx, http.MethodGet, url, "", &page); err != nil {
			return count, err
		}
		var items []json.RawMessage
		if err := json.Unmarshal(page[key], &items); err != nil {
			return count, fmt.Errorf("reading %s: %w", key, err)
		}
		count += len(items)
		if url, err = next(page[key+"_links"]); err != nil {
			return count, err
		}
	}
	return count, nil
}

// next is the address of the page that follows; empty on the last.
func next(links json.RawMessage) (string, error) {
	if len(links) == 0 {
		return "", nil
	}
	var list []struct{ Rel, Href string }
	if err := json.Unmarshal(links, &list); err != nil {
		return "", fmt.Errorf("reading links: %w", err)
	}
	for _, l := range list {
		if l.Rel == "next" {
			return l.Href, nil
		}
	}
	return "", nil
}
