package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/go-logr/logr"

	"github.com/slipway-sh/slipway/internal/ui"
)

// ClientLog is where commands let the Kubernetes client libraries log to:
// warnings and errors on standard error, but for the watches that end because
// nobody waits for them any more, which client-go calls failed.
func ClientLog(streams ui.Streams) logr.Logger {
	handler := slog.NewTextHandler(streams.Err, &slog.HandlerOptions{Level: slog.LevelWarn})
	return logr.FromSlogHandler(unabandoned{handler}).WithName("client-go")
}

// unabandoned drops the records of errors of contexts that were cancelled.
type unabandoned struct{ slog.Handler }

// Handle implements slog.Handler.
func (h unabandoned) Handle(ctx context.Context, r slog.Record) error {
	abandoned := false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		abandoned = ok && errors.Is(err, context.Canceled)
		return !abandoned
	})
	if abandoned {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h unabandoned) WithAttrs(attrs []slog.Attr) slog.Handler {
	return unabandoned{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h unabandoned) WithGroup(name string) slog.Handler {
	return unabandoned{h.Handler.WithGroup(name)}
}
