package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate"
)

// errNoStack is the error for a state without this environment.
var errNoStack = errors.New("there is no state of this environment")

type operation func(context.Context, auto.Stack, chan<- events.EngineEvent) error

// run runs an operation; with create, it creates a missing stack. It removes the lock of
// a process of this host that has ended, and drops that process's pending operations:
// Create adopts what they created.
func (e *Engine) run(ctx context.Context, program pulumi.RunFunc, create bool, do operation) (Report, error) {
	for attempt := 0; ; attempt++ {
		report, err := e.once(ctx, program, do)
		var locked *Locked
		switch {
		case attempt < 3 && errors.As(err, &locked) && e.stale(locked):
			if err := e.unlock(ctx, locked); err != nil {
				return report, err
			}
		case attempt < 3 && create && errors.Is(err, errNoStack):
			if err := e.create(ctx); err != nil {
				return report, err
			}
		default:
			return report, err
		}
	}
}

// once runs an operation with a provider server of its own: after the end of an
// operation a server only passes on cancelled contexts.
func (e *Engine) once(ctx context.Context, program pulumi.RunFunc, do operation) (Report, error) {
	failures := &failures{}
	server, err := e.serve(failures)
	if err != nil {
		return Report{}, err
	}
	defer server.Stop()
	where, err := e.enter(ctx, "PULUMI_DEBUG_PROVIDERS="+Provider+":"+server.port())
	if err != nil {
		return Report{}, err
	}
	defer where.leave()
	stack, err := e.stack(ctx, where, program)
	if err != nil {
		return Report{}, err
	}
	watcher := newWatcher(e.options.Events, failures)
	stream, stop := watcher.watch(ctx)
	err = do(ctx, stack, stream)
	stop()
	report := watcher.report()
	if ctx.Err() != nil {
		return report, watcher.halted(context.Cause(ctx))
	}
	return report, watcher.explain(err)
}

func (e *Engine) stack(ctx context.Context, where place, program pulumi.RunFunc) (auto.Stack, error) {
	local, err := auto.NewLocalWorkspace(ctx, auto.Pulumi(where.command), auto.Program(program), auto.WorkDir(where.workdir), auto.SecretsProvider("passphrase"))
	if err != nil {
		return auto.Stack{}, fmt.Errorf("preparing the engine: %w", err)
	}
	return auto.SelectStack(ctx, e.options.Environment, local)
}

// create creates the stack in the state.
func (e *Engine) create(ctx context.Context) error {
	where, err := e.settle(ctx)
	if err != nil {
		return err
	}
	_, err = where.pulumi(ctx, nil, "stack", "init", e.options.Environment, "--secrets-provider", "passphrase")
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		return fmt.Errorf("creating the state: %w", err)
	}
	return nil
}

// pulumi runs one command of the engine's command line on a state that exists, and
// returns its output.
func (e *Engine) pulumi(ctx context.Context, stdin []byte, args ...string) (string, error) {
	if args[0] != "stack" || args[1] != "export" && args[1] != "output" {
		defer e.memory.change()()
	}
	where, err := e.enter(ctx)
	if err != nil {
		return "", err
	}
	defer where.leave()
	return where.pulumi(ctx, stdin, args...)
}

func (p place) pulumi(ctx context.Context, stdin []byte, args ...string) (string, error) {
	stdout, stderr, _, err := p.run(ctx, p.workdir, reader(stdin), nil, nil, nil, args...)
	if ctx.Err() != nil {
		return stdout, context.Cause(ctx)
	}
	return stdout, known(err, stderr)
}

// known turns known messages of the engine into errors with a remedy.
func known(err error, stderr string) error {
	if err == nil {
		return nil
	}
	text := clean(stderr)
	switch {
	case strings.Contains(text, "no stack named"):
		return errNoStack
	case strings.Contains(text, "the stack is currently locked by"):
		return parseLock(text)
	case strings.Contains(text, "incorrect passphrase"):
		return fault.Usage("state", errors.New("the passphrase does not decrypt it"), "use the passphrase that the state was encrypted with; see docs/operations/state.md")
	}
	if failed, told := httpstate.Told(text); told {
		return ofServer(failed)
	}
	if text == "" {
		return err
	}
	return errors.New(text)
}
