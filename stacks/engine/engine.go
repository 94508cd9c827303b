// Package engine runs a Pulumi program from inside this binary: the program and
// the resources' code run in this process, the engine in a child that is this
// same binary under the name of Pulumi. Nothing is looked for on the machine or
// on the network.
package engine

import (
	"context"
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
)

// Project is the name of the Pulumi project in every state.
const Project = "slipway"

// Provider is the package name of the resources: their types are
// slipway:<Go package>:<Go type>.
const Provider = "slipway"

// parallel is how many resources are worked on at a time. They mostly wait.
const parallel = 32

// Options are what an Engine needs to know.
type Options struct {
	// Environment names the stack.
	Environment string
	// Folder holds the state, the passphrase and the engine's own files; it
	// is made with mode 0700.
	Folder string
	// Backend is the URL of the state (file://, s3://, …); empty is the
	// folder "state" in Folder.
	Backend string
	// Passphrase gives the passphrase of the secrets in the state.
	Passphrase Passphrase
	// Resources makes the resources of the program. It is called for each
	// operation.
	Resources func() []infer.InferredResource
	// Environ is added to the environment of the engine's process, which has
	// nothing of this process's own: credentials of a remote state.
	Environ []string
	// Events takes the progress.
	Events event.Sink
	// Executable is the binary that runs the engine; empty is this one.
	Executable string
}

// Engine runs operations on one environment.
type Engine struct{ options Options }

// New makes the folder, and the state's folder if the state is in it.
func New(options Options) (*Engine, error) {
	if options.Events == nil {
		options.Events = event.Discard{}
	}
	if options.Executable == "" {
		options.Executable = "/proc/self/exe"
	}
	folder, err := filepath.Abs(options.Folder)
	if err != nil {
		return nil, fmt.Errorf("finding the state folder: %w", err)
	}
	options.Folder = folder
	if options.Backend == "" {
		options.Backend = "file://" + filepath.Join(folder, "state")
	}
	if path, local := strings.CutPrefix(options.Backend, "file://"); local {
		path, query, _ := strings.Cut(path, "?")
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("making the state folder: %w", err)
		}
		// Without this a file of attributes is written beside every file, and
		// not atomically: a run killed at that moment leaves a state that
		// cannot be read ("failed to load checkpoint: EOF").
		options.Backend = "file://" + path + "?" + strings.TrimPrefix(query+"&metadata=skip", "&")
	}
	if err := os.MkdirAll(filepath.Join(folder, "engine", options.Environment), 0o700); err != nil {
		return nil, fmt.Errorf("making the engine's folder: %w", err)
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		return nil, fmt.Errorf("closing the state folder to others: %w", err)
	}
	e := &Engine{options: options}
	if err := e.writeProject(); err != nil {
		return nil, fmt.Errorf("writing the project: %w", err)
	}
	return e, nil
}

// writeProject writes what tells the engine that its folder is a project. Runs
// that begin at the same time must not see half of it.
func (e *Engine) writeProject() error {
	path := filepath.Join(e.workdir(), "Pulumi.yaml")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	file, err := os.CreateTemp(e.workdir(), "new-") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.WriteString("name: " + Project + "\nruntime: go\n")
	return errors.Join(err, file.Close(), os.Rename(file.Name(), path))
}

// Up makes what the program says and the state does not have, changes what
// differs and deletes what the program no longer has.
func (e *Engine) Up(ctx context.Context, program pulumi.RunFunc) (Report, error) {
	return e.run(ctx, program, true, func(ctx context.Context, stack auto.Stack, events chan<- events.EngineEvent) error {
		_, err := stack.Up(ctx, optup.EventStreams(events), optup.Parallel(parallel), optup.SuppressOutputs())
		return err
	})
}

// Preview tells what Up would do. It sends nothing but reads to the cloud and
// leaves no state where there was none.
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

// Destroy deletes everything in the state. A state that does not exist is
// nothing to do.
func (e *Engine) Destroy(ctx context.Context) (Report, error) {
	report, err := e.run(ctx, nothing, false, func(ctx context.Context, stack auto.Stack, events chan<- events.EngineEvent) error {
		_, err := stack.Destroy(ctx, optdestroy.EventStreams(events), optdestroy.Parallel(parallel), optdestroy.SuppressOutputs())
		return err
	})
	if errors.Is(err, errNoStack) {
		return Report{}, nil
	}
	return report, err
}

// PreviewDestroy tells what Destroy would delete.
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

// Refresh reads everything in the state from the cloud and returns what
// differs; with write, the state is changed to what was read.
func (e *Engine) Refresh(ctx context.Context, write bool) (Plan, error) {
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

// nothing is the program of operations that work on the state alone.
func nothing(*pulumi.Context) error { return nil }

// scratch is an engine with an empty state that is thrown away.
func (e *Engine) scratch() (*Engine, error) {
	folder, err := os.MkdirTemp("", "slipway-plan-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the plan: %w", err)
	}
	options := e.options
	options.Folder, options.Backend, options.Environ = folder, "", nil
	options.Passphrase = PassphraseFile(filepath.Join(folder, "passphrase"))
	return New(options)
}
