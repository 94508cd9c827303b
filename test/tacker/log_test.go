package tacker

import (
	"log"
	"log/slog"
)

func quiet() *slog.Logger  { return slog.New(slog.NewTextHandler(discard(), nil)) }
func nothing() *log.Logger { return log.New(discard(), "", 0) }
