// Package support makes one archive of what is needed to find a cause from afar: parts
// are collected in parallel, each within its own time and size, secrets are taken out,
// and what could not be had is listed with its cause.
package support

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// Part is one thing to collect.
type Part struct {
	// Name is its folder in the archive, such as "seed/logs".
	Name string
	// Deadline is its own; 0 means Limits.Part.
	Deadline time.Duration
	// Collect adds files to the folder. What it could not get it notes with Folder.Miss;
	// an error means that the part as a whole failed.
	Collect func(context.Context, *Folder) error
}

// Limits bound an archive.
type Limits struct {
	// Size is how many bytes all files have together, before compression.
	Size int64
	// Part is how long one part may take, Whole how long all of them.
	Part, Whole time.Duration
	// AtOnce is how many parts are collected at the same time.
	AtOnce int
}

// DefaultLimits are those of `slipway support`.
func DefaultLimits() Limits {
	return Limits{Size: 100 << 20, Part: time.Minute, Whole: 5 * time.Minute, AtOnce: 8}
}

// share is the part of Limits.Size that one part may fill, so that none drives out the
// others.
const share = 4

// grace is how long a part may go on after its time: one that does not look at its
// context is left behind then.
const grace = 2 * time.Second

// Missing is something that is not in the archive.
type Missing struct {
	// Part is the name of the part, What the file or the object; empty means all of it.
	Part string `json:"part"`
	What string `json:"what,omitempty"`
	// Cause is why.
	Cause string `json:"cause"`
}

// Folder receives the files of one part. It is safe for concurrent use.
type Folder struct {
	name  string
	limit int64

	mu      sync.Mutex
	closed  bool
	size    int64
	files   []file
	missing []Missing
}

type file struct {
	name string
	text []byte
}

// Add adds a file. Of text that does not fit, the end is kept, where the newest lines of
// a log are; other files are left out. Both are noted as missing.
func (f *Folder) Add(name string, text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	left := f.limit - f.size
	if int64(len(text)) > left {
		cut := !strings.HasSuffix(name, ".json") && left > 1000
		f.missing = append(f.missing, Missing{f.name, name, fmt.Sprintf("its %d bytes do not fit: a part may have %d (a quarter of --max-size)%s", len(text), f.limit, map[bool]string{true: "; its end is there"}[cut])})
		if !cut {
			return
		}
		text = text[int64(len(text))-left:]
		if i := slices.Index(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	f.size += int64(len(text))
	f.files = append(f.files, file{path.Join(f.name, clean(name)), text})
}

// clean keeps a name inside the folder.
func clean(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, "\\", "_")), "/")
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name)
}

// JSON adds a value as a file.
func (f *Folder) JSON(name string, value any) {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		f.Miss(name, err)
		return
	}
	f.Add(name, append(text, '\n'))
}

// Miss notes what could not be got. A nil error notes nothing.
func (f *Folder) Miss(what string, err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.missing = append(f.missing, Missing{f.name, what, err.Error()})
	}
}

// close ends the folder: what comes later is dropped.
func (f *Folder) close() ([]file, []Missing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.files, f.missing
}

// Taken is how a part went.
type Taken struct {
	Part    string  `json:"part"`
	Files   int     `json:"files"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Collected is what parts gave.
type Collected struct {
	Taken   []Taken
	Missing []Missing
	files   []file
}

// Collect collects the parts in parallel. It does not fail: what fails is in Missing.
// Files are in the order of the parts, which is their order of importance.
func Collect(ctx context.Context, parts []Part, limits Limits, events event.Sink) Collected {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Whole, fmt.Errorf("all parts together may take %s (--timeout)", limits.Whole))
	defer cancel()
	folders := make([]*Folder, len(parts))
	took := make([]time.Duration, len(parts))
	room := make(chan struct{}, max(1, limits.AtOnce))
	var group sync.WaitGroup
	for i, part := range parts {
		folders[i] = &Folder{name: part.Name, limit: max(limits.Size/share, 1)}
		group.Go(func() {
			select {
			case room <- struct{}{}:
				defer func() { <-room }()
			case <-ctx.Done():
				folders[i].Miss("", context.Cause(ctx))
				return
			}
			began := time.Now()
			one(ctx, part, limits, folders[i], events)
			took[i] = time.Since(began)
		})
	}
	group.Wait()
	var c Collected
	for i, part := range parts {
		files, missing := folders[i].close()
		c.Taken = append(c.Taken, Taken{part.Name, len(files), folders[i].size, took[i].Round(time.Millisecond).Seconds()})
		c.files, c.Missing = append(c.files, files...), append(c.Missing, missing...)
	}
	return c
}

// one collects a part within its time.
func one(ctx context.Context, part Part, limits Limits, folder *Folder, events event.Sink) {
	deadline := part.Deadline
	if deadline == 0 {
		deadline = limits.Part
	}
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("not there after %s (--part-timeout)", deadline))
	defer cancel()
	step := event.Start(events, part.Name, "collecting")
	ended := make(chan error, 1)
	go func() { ended <- guarded(ctx, part, folder) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(grace):
			err = context.Cause(ctx)
		}
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	folder.Miss("", err)
	files, missing := folder.close()
	switch {
	case err != nil:
		step.End("", err)
	case len(missing) > 0:
		step.End(fmt.Sprintf("%d files, %d missing", len(files), len(missing)), nil)
	default:
		step.End(fmt.Sprintf("%d files", len(files)), nil)
	}
}

// guarded turns a panic of one part into its error: the others matter.
func guarded(ctx context.Context, part Part, folder *Folder) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("collecting it panicked: %v", p)
		}
	}()
	return part.Collect(ctx, folder)
}
