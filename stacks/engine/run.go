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
)

// errNoStack says that the state has nothing of this environment.
var errNoStack = errors.New("no state of this environment")

type operation func(context.Context, auto.Stack, chan<- events.EngineEvent) error

// run runs an operation; with create, a missing stack is made. A lock that a
// dead process of this host left is taken away, and what that process had not
// finished is forgotten: Create adopts what it finds.
func (e *Engine) run(ctx context.Context, program pulumi.RunFunc, create bool, do operation) (Report, error) {
	for attempt := 0; ; attempt++ {
		report, err := e.once(ctx, program, do)
		var locked *Locked
		switch {
		case attempt < 3 && errors.As(err, &locked) && locked.stale():
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

// once runs an operation with a provider server of its own: one that has seen
// the end of an operation gives cancelled contexts for ever after.
func (e *Engine) once(ctx context.Context, program pulumi.RunFunc, do operation) (Report, error) {
	failures := &failures{}
	server, err := e.serve(failures)
	if err != nil {
		return Report{}, err
	}
	defer server.Stop()
	cmd, err := e.command(ctx, "PULUMI_DEBUG_PROVIDERS="+Provider+":"+server.port())
	if err != nil {
		return Report{}, err
	}
	stack, err := e.stack(ctx, cmd, program)
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

func (e *Engine) stack(ctx context.Context, cmd command, program pulumi.RunFunc) (auto.Stack, error) {
	local, err := auto.NewLocalWorkspace(ctx, auto.Pulumi(cmd), auto.Program(program), auto.WorkDir(e.workdir()), auto.SecretsProvider("passphrase"))
	if err != nil {
		return auto.Stack{}, fmt.Errorf("preparing the engine: %w", err)
	}
	return auto.SelectStack(ctx, e.options.Environment, local)
}

// create makes the stack in the state.
func (e *Engine) create(ctx context.Context) error {
	_, err := e.pulumi(ctx, nil, "stack", "init", e.options.Environment, "--secrets-provider", "passphrase")
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		return fmt.Errorf("making the state: %w", err)
	}
	return nil
}

// pulumi runs one command of the engine's command line and returns what it
// printed.
func (e *Engine) pulumi(ctx context.Context, stdin []byte, args ...string) (string, error) {
	cmd, err := e.command(ctx)
	if err != nil {
		return "", err
	}
	stdout, stderr, _, err := cmd.run(ctx, e.workdir(), reader(stdin), nil, nil, nil, args...)
	if ctx.Err() != nil {
		return stdout, context.Cause(ctx)
	}
	return stdout, known(err, stderr)
}

// known turns what the engine prints about its own trouble into an error that
// says what to do.
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
		return fault.Usage("state", errors.New("the passphrase does not open it"), "give the passphrase that was used before; see docs/operations/state.md")
	}
	if text == "" {
		return err
	}
	return errors.New(text)
}
