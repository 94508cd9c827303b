package environment

import (
	"context"
	"errors"
	"os"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/preflight"
)

// runtimeVariable is kind's own choice of a runtime.
const runtimeVariable = "KIND_EXPERIMENTAL_PROVIDER"

// lookAtMachine reports what this machine has for a local seed.
func lookAtMachine(ctx context.Context, environment, authURL, projectID string) *preflight.LocalSeed {
	name := localseed.Name(environment)
	return &preflight.LocalSeed{Host: looker().Look(ctx, name), Name: name, AuthURL: authURL, Owner: localseed.Owner(environment, authURL, projectID)}
}

func looker() localseed.Looker {
	return localseed.NewLooker(localseed.Runtime(os.Getenv(runtimeVariable)))
}

// LocalSeeds opens the runtime of this machine.
func LocalSeeds(ctx context.Context) (localseed.Provider, error) {
	h := looker().Runtime(ctx)
	if h.Runtime == "" || h.Problem != "" {
		return nil, fault.New("local seed", errors.New(h.Problem), "this command needs Docker or Podman on this machine: see slipway preflight")
	}
	return localseed.Kind{Runtime: h.Runtime}, nil
}
