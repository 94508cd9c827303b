package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/process"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate"
)

// Holder is a process that holds the lock of a state.
type Holder struct {
	User, Host string
	PID        int
	Since      time.Time
}

// Locked is the error of an operation on a state that another process has locked.
type Locked struct{ Holders []Holder }

// Error names each holder.
func (l *Locked) Error() string {
	words := make([]string, 0, len(l.Holders))
	for _, h := range l.Holders {
		process := fmt.Sprintf(" (process %d)", h.PID)
		if h.PID == 0 {
			process = "" // a server does not know it
		}
		words = append(words, fmt.Sprintf("%s on %s%s since %s", h.User, h.Host, process, h.Since.Local().Format(time.DateTime)))
	}
	return "locked by " + strings.Join(words, " and ")
}

// holderPattern matches the engine's message about a lock
// (pkg/backend/diy/lock.go).
var holderPattern = regexp.MustCompile(`created by (\S*)@(\S+) \(pid (\d+)\) at (\S+)`)

// parseLock reads the holders from the engine's message.
func parseLock(text string) error {
	locked := &Locked{}
	for _, match := range holderPattern.FindAllStringSubmatch(text, -1) {
		pid, _ := strconv.Atoi(match[3])
		since, _ := time.Parse(time.RFC3339, match[4])
		locked.Holders = append(locked.Holders, Holder{User: match[1], Host: match[2], PID: pid, Since: since})
	}
	if len(locked.Holders) == 0 {
		return errors.New(text)
	}
	return fault.New("state", locked, "wait until that process has ended; if it is certainly gone, run slipway state unlock")
}

// stale reports whether all holders are processes of this host that have ended. In a remote
// state the name of the host is not enough.
func (e *Engine) stale(l *Locked) bool {
	host, err := os.Hostname()
	if err != nil {
		return false
	}
	for _, h := range l.Holders {
		if h.PID == 0 || h.Host != host || process.Alive(h.PID, h.Since) || e.local == "" && !e.notes().has(h.PID) {
			return false
		}
	}
	return true
}

// CheckLock returns the fault of a [Locked] if another process works on the state. It removes
// the lock of a process of this host that has ended; else it changes nothing.
func (e *Engine) CheckLock(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		// A state that is to be renamed to the name that it has is locked, and the
		// renaming refused, because there is a state of that name.
		_, err := e.pulumi(ctx, nil, "stack", "rename", e.options.Environment, "--stack", e.options.Environment)
		var locked *Locked
		switch {
		case attempt < 3 && errors.As(err, &locked) && e.stale(locked):
			if err := e.unlock(ctx, locked); err != nil {
				return err
			}
		case errors.Is(err, errNoStack), err != nil && strings.Contains(err.Error(), "already exists"):
			return nil
		default:
			return err
		}
	}
}

// unlock removes the lock and drops the pending operations.
func (e *Engine) unlock(ctx context.Context, locked *Locked) error {
	for _, h := range locked.Holders {
		e.options.Events.Emit(event.Event{Time: time.Now(), State: event.Note,
			Message: fmt.Sprintf("removed the lock of process %d, which ended without releasing it (locked since %s)", h.PID, h.Since.Local().Format(time.DateTime))})
	}
	if e.server != nil {
		return e.unlockServer(ctx, e.stale)
	}
	return e.Unlock(ctx)
}

// Unlock removes all locks of the environment, whoever holds them, and drops the
// pending operations.
func (e *Engine) Unlock(ctx context.Context) error {
	if e.server != nil {
		return e.unlockServer(ctx, func(*Locked) bool { return true })
	}
	if _, err := e.pulumi(ctx, nil, "cancel", "--yes", "--stack", e.options.Environment); err != nil && !errors.Is(err, errNoStack) {
		return fmt.Errorf("removing the lock: %w", err)
	}
	return e.forgetPending(ctx)
}

// unlockServer removes the lock of a server, if it may, and drops the pending operations. A lock
// that another process takes meanwhile stays: it is removed by its ID.
func (e *Engine) unlockServer(ctx context.Context, may func(*Locked) bool) error {
	held, err := e.server.Held(ctx, httpstate.ThisProcess())
	if err == nil && held != nil {
		locked := &Locked{Holders: []Holder{Holder(held.Holder)}}
		if !may(locked) {
			return ofServer(held)
		}
		err = e.server.Unlock(ctx, held.ID)
	}
	if err != nil {
		return fmt.Errorf("removing the lock: %w", ofServer(err))
	}
	return e.forgetPending(ctx)
}

// ofServer turns errors of a state on a server into faults.
func ofServer(err error) error {
	var locked *httpstate.Locked
	var failed *httpstate.Error
	switch {
	case errors.As(err, &locked):
		return parseLock(locked.Error())
	case errors.As(err, &failed):
		return fault.New("state at "+failed.Address, failed.Err, failed.Remedy)
	}
	return err
}
