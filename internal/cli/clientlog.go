package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/go-logr/logr"

	"github.com/slipway-sh/slipway/internal/ui"
)

// ClientLog is the logger that commands give the Kubernetes client libraries. It
// writes warnings and errors to standard error, but not the failures that
// client-go reports for requests whose context has ended: their callers know, and tell it or try again.
func ClientLog(streams ui.Streams) logr.Logger {
	handler := slog.NewTextHandler(streams.Err, &slog.HandlerOptions{Level: slog.LevelWarn})
	return logr.FromSlogHandler(unabandoned{handler}).WithName("client-go")
}

// unabandoned drops error records that the end of a context caused.
type unabandoned struct{ slog.Handler }

// Handle implements slog.Handler.
func (h unabandoned) Handle(ctx context.Context, r slog.Record) error {
	abandoned := false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		abandoned = ok && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
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
