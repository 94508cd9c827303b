package scheduledbackup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
)

// How long is waited after a failure: it doubles up to mostDelay, or to the interval.
const (
	firstDelay = time.Minute
	mostDelay  = 30 * time.Minute
)

// beginDelay is how long is waited while the first look at the fence goes on.
const beginDelay = time.Second

// attemptTime bounds one attempt. A backup of 1,000 clusters takes a minute.
const attemptTime = time.Hour

// runner makes a backup whenever one is due. Only the leader runs it, so that no two
// backups are made at a time.
type runner struct {
	due rhythm.Rhythm
	// make makes a backup, prune removes old ones, allowed is why none may be made now.
	make    func(context.Context) (backup.Backup, error)
	prune   func(context.Context) error
	allowed func(context.Context) error
	// load and save keep the record.
	load func(context.Context) (record.State, error)
	save func(context.Context, record.Schedule) error
	// tell is told how an attempt ended, or why none was made; show sees the record first.
	tell func(s record.Schedule, err error)
	show func(s record.Schedule)
}

// Start implements manager.Runnable.
func (r *runner) Start(ctx context.Context) error {
	s, err := r.remember(ctx)
	if err != nil {
		return nil //nolint:nilerr // the process ends
	}
	delay := time.Duration(0)
	for {
		due := r.due.Next(s.LastSuccess)
		if next := r.due.Next(time.Now()); due.After(next) { // the clock was ahead when the last one was made
			due = next
		}
		if delay > 0 {
			due = time.Now().Add(delay)
		}
		if !wait(ctx, time.Until(due)) {
			return nil
		}
		if err := r.allowed(ctx); errors.Is(err, fence.ErrBegins) { // no failure: the process has just started
			delay = beginDelay
			continue
		} else if err != nil {
			s.Error = "no backup was made: " + err.Error()
			r.note(ctx, s, err)
			delay = min(firstDelay, r.due.Shortest(time.Now()))
			continue
		}
		if s, err = r.attempt(ctx, s); err == nil {
			delay = 0
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		delay = min(max(2*delay, firstDelay), mostDelay, r.due.Shortest(time.Now()))
	}
}

// remember reads the record, as soon as that is possible: without it the failures would
// be counted anew, and a backup be made that is not due.
func (r *runner) remember(ctx context.Context) (record.Schedule, error) {
	for {
		state, err := r.load(ctx)
		if err == nil {
			s := record.Schedule{}
			if state.Schedule != nil {
				s = *state.Schedule
			}
			s = r.described(s)
			r.show(s)
			return s, nil
		}
		r.tell(r.described(record.Schedule{}), err)
		if !wait(ctx, firstDelay) {
			return record.Schedule{}, context.Cause(ctx)
		}
	}
}

// described says in a record when backups are due.
func (r *runner) described(s record.Schedule) record.Schedule {
	s.Every, s.Cron = r.due.Longest(time.Now()).Seconds(), r.due.Calendar()
	return s
}

// attempt makes one backup and notes how it went.
func (r *runner) attempt(ctx context.Context, s record.Schedule) (record.Schedule, error) {
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, attemptTime, fmt.Errorf("it took longer than %s", attemptTime))
	defer cancel()
	made, err := r.make(limited)
	if ctx.Err() != nil { // no failure: the process was told to end, or is not the leader any more
		return s, context.Cause(ctx)
	}
	if err != nil && errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil {
		err = errors.Join(context.Cause(limited), err)
	}
	s.LastAttempt = began
	if err != nil {
		s.Error, s.Failures = err.Error(), s.Failures+1
		r.note(ctx, s, err)
		return s, err
	}
	s.LastSuccess, s.Backup, s.Duration, s.Error, s.PruneError = began, made.ID, time.Since(began).Seconds(), "", ""
	if err := r.prune(limited); err != nil && ctx.Err() == nil {
		s.PruneError = err.Error()
	}
	r.note(ctx, s, nil)
	return s, nil
}

// note saves the record and tells. A record that cannot be saved is told too: the next
// process would not know of this attempt.
func (r *runner) note(ctx context.Context, s record.Schedule, err error) {
	r.tell(s, errors.Join(err, r.save(ctx, s)))
}

// wait reports whether the time passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
