package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/overview"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/runlog"
)

// sources answer the console with what the commands know.
type sources struct {
	from   environment.Flags
	loaded *config.Loaded // nil if there is only a file of events
	events string
	// missing is why there is no environment.
	missing error

	store      runlog.Store
	leave      func() error
	management connection

	mu       sync.Mutex
	overview overview.Overview
	read     time.Time // when overview was
}

func (s *sources) open(ctx context.Context) (err error) {
	s.store, s.leave, err = runlog.Open(ctx, s.loaded.LogURL())
	if err != nil {
		return fault.New("log of "+s.loaded.Environment.Metadata.Name, err, "check spec.state.backend and its login")
	}
	return nil
}

func (s *sources) close() {
	s.management.close()
	if s.leave != nil {
		_ = s.leave() // nothing was written
	}
}

const (
	// fileRun is the ID of the run of a file of events.
	fileRun = "events-file"
	// mostRuns is how many runs are shown.
	mostRuns = 50
	// largestFile is how much of a file of events is read.
	largestFile = 64 << 20
)

// Runs are the newest of the log; before them the file of events.
func (s *sources) Runs(ctx context.Context) ([]console.Run, error) {
	var runs []console.Run
	if s.events != "" {
		runs = append(runs, console.Run{ID: fileRun, Command: s.events, Label: words.T("events of %s", filepath.Base(s.events)), Outcome: console.OutcomeEvents, EventFile: s.events, Changed: []string{}})
	}
	if s.loaded == nil {
		return runs, nil
	}
	records, err := runlog.List(ctx, s.store, s.loaded.Environment.Metadata.Name, mostRuns)
	if err != nil && len(records) == 0 {
		return runs, fault.New("log of "+s.loaded.Environment.Metadata.Name, err, "check spec.state.backend and its login")
	}
	now := time.Now()
	for _, r := range records {
		run := console.Run{ID: r.ID, Command: r.Command, By: r.User + "@" + r.Host, Version: r.Version, Cloud: r.Cloud, Started: r.Started, Ended: r.Ended,
			Outcome: string(r.Now(now)), Exit: r.Exit, Error: r.Error, Changed: r.Changed}
		for _, f := range r.Files {
			run.Files = append(run.Files, console.File(f))
		}
		runs = append(runs, run)
	}
	return runs, nil // one that cannot be read hides no other, as in slipway log
}

// Order is what the state knows of what comes after what.
func (s *sources) Order(ctx context.Context) (map[string][]string, error) {
	if s.loaded == nil {
		return nil, nil
	}
	e, err := target.Engine(s.loaded, event.Discard{}, nil)
	if err != nil {
		return nil, err
	}
	return e.Order(ctx)
}

// Events are those of a run.
func (s *sources) Events(ctx context.Context, run string) ([]event.Event, error) {
	if run == fileRun {
		return readEvents(s.events)
	}
	if s.loaded == nil {
		return nil, s.missing
	}
	return parseEvents(runlog.Events(ctx, s.store, s.loaded.Environment.Metadata.Name, run)), nil
}

func readEvents(file string) ([]event.Event, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case info.Size() > largestFile:
		return nil, errors.New("it is larger than 64 MiB")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	events := parseEvents(text)
	if len(events) == 0 && len(bytes.TrimSpace(text)) > 0 && bytes.ContainsRune(text, '\n') {
		return nil, errors.New("it has no events")
	}
	return events, nil
}

// parseEvents reads one event per line. Standard error has other lines too, such as warnings.
func parseEvents(text []byte) []event.Event {
	events := []event.Event{}
	for line := range bytes.Lines(text) {
		var e event.Event
		if json.Unmarshal(line, &e) == nil && e.State != "" {
			events = append(events, e)
		}
	}
	return events
}

func missing(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}
