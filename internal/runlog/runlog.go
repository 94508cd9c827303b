// Package runlog records the runs of commands that change an environment: who ran what,
// with which files, when, how it ended and what it changed. Records are beside the state,
// so that they are where the state is, on whichever machine a command runs.
package runlog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/process"
)

// Store keeps files. Names have slashes.
type Store interface {
	Put(ctx context.Context, name string, text []byte) error
	Get(ctx context.Context, name string) ([]byte, error)
	// List returns the names below a folder.
	List(ctx context.Context, folder string) ([]string, error)
	Delete(ctx context.Context, name string) error
}

// Outcome is how a run ended, or that it did not.
type Outcome string

// The outcomes. A run that was killed is interrupted too: its record stays without an end.
const (
	Running     Outcome = "running"
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
)

// File is a file that a run read, with its SHA-256 in hexadecimal.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Record is one run.
type Record struct {
	// ID names the run; IDs sort by time.
	ID          string `json:"id"`
	Environment string `json:"environment"`
	// Command is the command with its arguments and flags, without values that may be
	// secret.
	Command string `json:"command"`
	User    string `json:"user"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	// Cloud is the entry of clouds.yaml.
	Cloud   string `json:"cloud,omitempty"`
	Version string `json:"version"`
	// Files are the environment files, in their order.
	Files   []File    `json:"files"`
	Started time.Time `json:"started"`
	// Beat is when the run last said that it is there.
	Beat  time.Time `json:"beat"`
	Ended time.Time `json:"ended,omitzero"`
	// Outcome is as recorded; use Record.Now.
	Outcome Outcome `json:"outcome"`
	// Exit is the exit code of a run that ended.
	Exit  int    `json:"exit"`
	Error string `json:"error,omitempty"`
	// Changed are the steps that ended with a change: "seed: created".
	Changed []string `json:"changed"`
}

const (
	// beatEvery is how often a run says that it is there.
	beatEvery = 15 * time.Second
	// newsEvery is how often it says what it did, if the store is a folder.
	newsEvery = 2 * time.Second
	// silent is how long a run on another machine may say nothing.
	silent = 2 * time.Minute
	// kept is how many runs are kept, keptEvents of how many the events.
	kept, keptEvents = 500, 50
	// readAtOnce is how many are read at the same time: in a bucket each is a request.
	readAtOnce = 16
)

// Now is how the run ended, as far as can be told: one that says nothing any more, or
// whose process is gone from this host, was interrupted.
func (r Record) Now(now time.Time) Outcome {
	if r.Outcome != Running {
		return r.Outcome
	}
	host, _ := os.Hostname()
	if host == r.Host && !process.Alive(r.PID, r.Started) || now.Sub(r.Beat) > silent {
		return Interrupted
	}
	return Running
}

func folder(environment string) string { return path.Join("runs", environment) }

func recordName(environment, id string) string { return path.Join(folder(environment), id+".json") }

func eventsName(environment, id string) string { return path.Join(folder(environment), id+".events") }

// List returns the newest runs of an environment, the newest first; most 0 means all.
// What cannot be read is left out, and reported in the error.
func List(ctx context.Context, store Store, environment string, most int) ([]Record, error) {
	names, err := store.List(ctx, folder(environment))
	if err != nil {
		return nil, fmt.Errorf("listing the runs: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".json" })
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(path.Base(b), path.Base(a)) })
	if most > 0 {
		names = names[:min(most, len(names))]
	}
	found, failed := make([]Record, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(readAtOnce)
	for i, name := range names {
		group.Go(func() error {
			text, err := store.Get(ctx, path.Join(folder(environment), path.Base(name)))
			if err == nil {
				err = json.Unmarshal(text, &found[i])
			}
			if err != nil {
				failed[i] = fmt.Errorf("reading run %s: %w", strings.TrimSuffix(path.Base(name), ".json"), err)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed, in the order of the runs
	records := []Record{}
	for i, r := range found {
		if failed[i] == nil {
			records = append(records, r)
		}
	}
	return records, errors.Join(failed...)
}

// Events returns the events of a run, one JSON object per line; empty if they are not
// kept any more.
func Events(ctx context.Context, store Store, environment, id string) []byte {
	text, err := store.Get(ctx, eventsName(environment, id))
	if err != nil {
		return nil
	}
	return text
}

// prune deletes what is more than is kept.
func prune(ctx context.Context, store Store, environment string) {
	names, err := store.List(ctx, folder(environment))
	if err != nil {
		return
	}
	for extension, most := range map[string]int{".json": kept, ".events": keptEvents} {
		var of []string
		for _, name := range names {
			if path.Ext(name) == extension {
				of = append(of, path.Base(name))
			}
		}
		slices.Sort(of)
		for _, name := range of[:max(0, len(of)-most)] {
			_ = store.Delete(ctx, path.Join(folder(environment), name)) // the next run tries again
		}
	}
}
