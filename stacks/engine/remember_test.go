package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	sdk "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestAStateIsReadOnceUntilItChanges: a process of the engine is started for the first who asks
// after each change, and for nobody else.
func TestAStateIsReadOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	o := options(newCloud(), t.TempDir(), nil)
	var started atomic.Int32 // each process is given the passphrase
	passphrase := o.Passphrase
	o.Passphrase = func(ctx context.Context, generate bool) ([]byte, error) {
		started.Add(1)
		return passphrase(ctx, generate)
	}
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var former []byte
	for _, change := range []struct {
		what string
		do   func() error
		// things are in the state then, -1 is any number; reads is how often it is read.
		things, reads int
	}{
		{"up", func() error { _, err := e.Up(t.Context(), program("a", "b")); return err }, 2, 1},
		{"up with nothing to do", func() error { _, err := e.Up(t.Context(), program("a", "b")); return err }, 2, 0},
		{"up with another output", func() error { _, err := e.Up(t.Context(), answering("43", "a", "b")); return err }, 2, 1},
		{"up with less", func() error { _, err := e.Up(t.Context(), program("a")); return err }, 1, 1},
		{"an export", func() error { former, err = e.Export(t.Context()); return err }, 1, 0},
		{"forgetting", func() error { return e.Forget(t.Context(), "thing-0", false) }, 0, 1},
		{"import", func() error { return e.Import(t.Context(), former) }, 1, 1},
		{"up that fails", func() error { _, _ = e.Up(t.Context(), program("a", "broken")); return nil }, -1, 1},
	} {
		if err := change.do(); err != nil {
			t.Fatalf("%s: %v", change.what, err)
		}
		before := started.Load()
		for range 3 {
			list, err := e.Resources(t.Context())
			things := 0
			for _, r := range list {
				if r.Type == "slipway:test:Thing" {
					things++
				}
			}
			if err != nil || change.things >= 0 && things != change.things {
				t.Errorf("%s: %d things, %v", change.what, things, err)
			}
		}
		if reads := int(started.Load() - before); reads != change.reads {
			t.Errorf("%s: the state was read %d times", change.what, reads)
		}
	}
}

// answering is the program with another output.
func answering(answer string, labels ...string) sdk.RunFunc {
	return func(ctx *sdk.Context) error {
		defer ctx.Export("answer", sdk.String(answer))
		return program(labels...)(ctx)
	}
}
