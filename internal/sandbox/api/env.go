package api

import (
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

// Env has what every service is built from.
type Env struct {
	Store  *store.Store
	Model  *model.Model
	Timing transition.Timing
	Faults *faultinject.Rules
	Host   machine.Host
	Events event.Sink
	// Dir is the folder for files that are too large for the store, such as images; each service
	// creates a folder of its own in it.
	Dir string
	// Region is the only region.
	Region string
}
