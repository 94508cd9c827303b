package serve

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-sh/slipway/internal/fault"
)

// logger returns the process's logger. Controllers log names and causes, never the
// content of Secrets.
type logger struct{ logr.Logger }

func newLogger(w io.Writer, level, format string) (logger, error) {
	var options slog.HandlerOptions
	var parsed slog.Level
	if err := parsed.UnmarshalText([]byte(level)); err != nil {
		return logger{}, fault.Usage("--log-level", fmt.Errorf("%q is unknown", level), "use debug, info, warn or error")
	}
	options.Level = parsed
	switch format {
	case "json":
		return logger{logr.FromSlogHandler(slog.NewJSONHandler(w, &options))}, nil
	case "text":
		return logger{logr.FromSlogHandler(slog.NewTextHandler(w, &options))}, nil
	}
	return logger{}, fault.Usage("--log-format", fmt.Errorf("%q is unknown", format), "use json or text")
}

// install makes it the logger of controller-runtime and client-go too, which keep
// one logger for the whole process.
func (l logger) install() {
	log.SetLogger(l.Logger)
	klog.SetLogger(l.WithName("client-go"))
}

func (l logger) named(set string) logr.Logger { return l.WithName(set) }
