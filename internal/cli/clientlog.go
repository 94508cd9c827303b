package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-sh/slipway/internal/ui"
)

// ClientLog is the logger that commands give the Kubernetes client libraries. It
// writes warnings and errors to standard error, but not the failures that
// client-go reports for requests whose context has ended: their callers know, and tell it or try again.
// Nor does it write of watches that fail while an API server is away, as when its machine starts
// again: the library makes them again, and the step that waits says what for.
func ClientLog(streams ui.Streams) logr.Logger {
	handler := slog.NewTextHandler(streams.Err, &slog.HandlerOptions{Level: slog.LevelWarn})
	return logr.FromSlogHandler(unabandoned{handler}).WithName("client-go")
}

// unabandoned drops error records that the end of a context caused, and those of watches that
// are made again.
type unabandoned struct{ slog.Handler }

// Handle implements slog.Handler.
func (h unabandoned) Handle(ctx context.Context, r slog.Record) error {
	var failed error
	watch := false
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			failed = errors.Join(failed, err)
		}
		watch = watch || a.Key == "reflector"
		return true
	})
	refused := apierrors.IsForbidden(failed) || apierrors.IsUnauthorized(failed)
	if errors.Is(failed, context.Canceled) || errors.Is(failed, context.DeadlineExceeded) || watch && failed != nil && !refused {
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
