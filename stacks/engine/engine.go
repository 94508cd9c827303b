// Package engine runs a Pulumi program from this binary: the program and the code of the
// resources run in this process, the engine in a child process, which is this same binary
// under Pulumi's name. It needs nothing else from the machine or the network.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/process"
	"github.com/slipway-sh/slipway/internal/stateurl"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate"
)

// Project is the name of the Pulumi project in every state.
const Project = "slipway"

// Provider is the package name of the resources: their types are
// slipway:<Go package>:<Go type>.
const Provider = "slipway"

// parallel is how many resources are processed at once. They mostly wait.
const parallel = 32

// Options are the settings of an Engine.
type Options struct {
	// Environment names the stack.
	Environment string
	// Folder holds the state, the passphrase and the engine's own files; it is
	// created with the state, with mode 0700.
	Folder string
	// Backend is the URL of the state (file://, s3://, https://, …); empty means the
	// folder "state" in Folder.
	Backend string
	// Passphrase gives the passphrase of the secrets in the state.
	Passphrase Passphrase
	// Resources returns the resources of the program. It is called for each
	// operation.
	Resources func() []infer.InferredResource
	// Environ is the environment of the engine's process, which inherits nothing
	// from this process: the credentials of a remote state.
	Environ []string
	// Events receives the progress.
	Events event.Sink
	// Executable is the binary that runs the engine; empty means this one.
	Executable string
}

// Engine runs operations on one environment.
type Engine struct {
	options Options
	// local is the folder of the state; empty if that is remote.
	local string
	// server has the state; nil if that is elsewhere.
	server *httpstate.Client
	memory memory
}

// New returns the engine of an environment. It writes nothing: folders and passphrase are
// created with the state, by the first Up or Import.
func New(options Options) (*Engine, error) {
	if options.Events == nil {
		options.Events = event.Discard{}
	}
	if options.Executable == "" {
		program, err := process.Self()
		if err != nil {
			return nil, fmt.Errorf("finding slipway's own binary: %w", err)
		}
		options.Executable = program
	}
	folder, err := filepath.Abs(options.Folder)
	if err != nil {
		return nil, fmt.Errorf("finding the state folder: %w", err)
	}
	options.Folder = folder
	if options.Backend == "" {
		options.Backend = "file://" + filepath.Join(folder, "state")
	}
	e := &Engine{options: options}
	if stateurl.IsHTTP(options.Backend) {
		if e.server, err = httpstate.New(options.Backend, options.Environ); err != nil {
			return nil, err
		}
		e.options.Backend = httpstate.EngineURL(options.Backend)
	}
	if path, local := strings.CutPrefix(options.Backend, "file://"); local {
		path, query, _ := strings.Cut(path, "?")
		e.local = path
		// Without this an attributes file is written beside every file, and not
		// atomically: a run that is killed at that moment leaves an unreadable
		// state ("failed to load checkpoint: EOF").
		e.options.Backend = "file://" + path + "?" + strings.TrimPrefix(query+"&metadata=skip", "&")
	}
	return e, nil
}

// Up creates the resources that are in the program but not in the state, changes those
// that differ, and deletes those that left the program.
func (e *Engine) Up(ctx context.Context, program pulumi.RunFunc) (report Report, err error) {
	ended := e.memory.attempt()
	defer func() { ended(err != nil || !report.same) }()
	return e.run(ctx, program, true, func(ctx context.Context, stack auto.Stack, events chan<- events.EngineEvent) error {
		_, err := stack.Up(ctx, optup.EventStreams(events), optup.Parallel(parallel), optup.SuppressOutputs())
		return err
	})
}

// Preview returns what Up would do. It only reads from the cloud. If there is no state
// it leaves nothing behind.
func (e *Engine) Preview(ctx context.Context, program pulumi.RunFunc) (Plan, error) {
	preview := func(ctx context.Context, stack auto.Stack, events chan<- events.EngineEvent) error {
		_, err := stack.Preview(ctx, optpreview.EventStreams(events), optpreview.Parallel(parallel), optpreview.SuppressProgress())
		return err
	}
	report, err := e.run(ctx, program, false, preview)
	if !errors.Is(err, errNoStack) {
		return report.plan, err
	}
	scratch, err := e.scratch()
	if err != nil {
		return Plan{}, err
	}
	defer os.RemoveAll(scratch.options.Folder)
	report, err = scratch.run(ctx, program, true, preview)
	return report.plan, err
}

// Destroy deletes everything in the state. If there is no state it does nothing.
func (e *Engine) Destroy(ctx context.Context) (Report, error) {
	defer e.memory.change()()
	report, err := e.run(ctx, nothing, false, func(ctx context.Context, stack auto.Stack, events chan<- events.EngineEvent) error {
		_, err := stack.Destroy(ctx, optdestroy.EventStreams(events), optdestroy.Parallel(parallel), optdestroy.SuppressOutputs())
		return err
	})
	if errors.Is(err, errNoStack) {
		return Report{}, nil
	}
	return report, err
}

// PreviewDestroy returns what Destroy would delete.
func (e *Engine) PreviewDestroy(ctx context.Context) (Plan, error) {
	report, err := e.run(ctx, nothing, false, func(ctx context.Context, stack auto.Stack, events chan<- events.EngineEvent) error {
		_, err := stack.PreviewDestroy(ctx, optdestroy.EventStreams(events))
		return err
	})
	if errors.Is(err, errNoStack) {
		return Plan{}, nil
	}
	return report.plan, err
}

// Refresh reads everything in the state from the cloud and returns the drift; with
// write, it updates the state.
func (e *Engine) Refresh(ctx context.Context, write bool) (Plan, error) {
	if write {
		defer e.memory.change()()
	}
	report, err := e.run(ctx, nothing, false, func(ctx context.Context, stack auto.Stack, events chan<- events.EngineEvent) error {
		var err error
		if write {
			_, err = stack.Refresh(ctx, optrefresh.EventStreams(events), optrefresh.Parallel(parallel))
		} else {
			_, err = stack.PreviewRefresh(ctx, optrefresh.EventStreams(events), optrefresh.Parallel(parallel))
		}
		return err
	})
	if errors.Is(err, errNoStack) {
		return Plan{}, nil
	}
	return report.plan, err
}

// nothing is the empty program of operations that work on the state alone.
func nothing(*pulumi.Context) error { return nil }

// scratch returns an engine with an empty, temporary state.
func (e *Engine) scratch() (*Engine, error) {
	folder, err := os.MkdirTemp("", "slipway-plan-")
	if err != nil {
		return nil, fmt.Errorf("creating a folder for the plan: %w", err)
	}
	options := e.options
	options.Folder, options.Backend, options.Environ = folder, "", nil
	options.Passphrase = PassphraseText(rand.Text())
	return New(options)
}
