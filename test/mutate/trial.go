package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// trial knows which tests of a program reach which change, and how long each takes.
type trial struct {
	program
	work    string
	took    map[string]time.Duration
	reached map[int][]string
	limit   time.Duration
}

// quick is what a test takes at most to be tried together with others, before those that take
// longer: most changes need no more.
const quick = time.Second

// begin compiles the tests of dir with the changes of a package, and runs each test alone, without
// a change. It returns what does not compile.
func begin(ctx context.Context, dir, changed string, all []mutation, limit time.Duration) (*trial, []mutation, error) {
	work, err := os.MkdirTemp("", "slipway-mutate-")
	if err != nil {
		return nil, nil, err
	}
	t := &trial{work: work, took: map[string]time.Duration{}, reached: map[int][]string{}, limit: limit}
	var broken []mutation
	if t.program, broken, err = compile(ctx, dir, changed, all, work); err == nil {
		err = t.learn(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(work))
	}
	return t, broken, nil
}

func (t *trial) end() error { return os.RemoveAll(t.work) }

func (t *trial) learn(ctx context.Context) error {
	names, err := t.tests(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		file := filepath.Join(t.work, "reached")
		began := time.Now()
		passed, text, err := t.run(ctx, "^"+name+"$", reachedVariable+"="+file)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if !passed {
			return fmt.Errorf("%s of %s fails without a change:\n%s", name, t.dir, text)
		}
		t.took[name] = time.Since(began)
		list, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		ids := map[int]bool{}
		for _, field := range bytes.Fields(list) {
			id, _ := strconv.Atoi(string(field))
			ids[id] = true
		}
		for id := range ids {
			t.reached[id] = append(t.reached[id], name)
		}
		_ = os.Remove(file)
	}
	return nil
}

// notices says whether a test fails with a change. Tests that never end are a way to notice.
func (t *trial) notices(ctx context.Context, id int) (bool, error) {
	var first, second []string
	for _, name := range t.reached[id] {
		if t.took[name] <= quick {
			first = append(first, name)
		} else {
			second = append(second, name)
		}
	}
	slices.SortFunc(second, func(a, b string) int { return int(t.took[a] - t.took[b]) })
	groups := [][]string{first}
	for _, name := range second {
		groups = append(groups, []string{name})
	}
	for _, names := range groups {
		if len(names) == 0 {
			continue
		}
		if passed, err := t.with(ctx, id, names); err != nil || !passed {
			return !passed, err
		}
	}
	return false, nil
}

func (t *trial) with(ctx context.Context, id int, names []string) (bool, error) {
	usual := 10 * time.Second
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
		usual += 5 * t.took[name]
	}
	limited, cancel := context.WithTimeout(ctx, min(usual, t.limit))
	defer cancel()
	passed, _, err := t.run(limited, "^("+strings.Join(names, "|")+")$", onVariable+"="+strconv.Itoa(id))
	return passed, err
}

// survivors are those of the changes that no test notices, in order. Now and then it tells how
// many were tried.
func (t *trial) survivors(ctx context.Context, all []mutation, jobs int, tell func(tried int)) ([]mutation, error) {
	var (
		group  sync.WaitGroup
		lock   sync.Mutex
		failed error
		left   []mutation
		tried  int
		told   = time.Now()
	)
	queue := make(chan mutation)
	for range jobs {
		group.Go(func() {
			for m := range queue {
				seen, err := t.notices(ctx, m.id)
				lock.Lock()
				failed = errors.Join(failed, err)
				if err == nil && !seen {
					left = append(left, m)
				}
				if tried++; time.Since(told) > time.Minute {
					told = time.Now()
					tell(tried)
				}
				lock.Unlock()
			}
		})
	}
	for _, m := range all {
		if ctx.Err() == nil {
			queue <- m
		}
	}
	close(queue)
	group.Wait()
	slices.SortFunc(left, func(a, b mutation) int { return a.id - b.id })
	return left, errors.Join(failed, ctx.Err())
}
