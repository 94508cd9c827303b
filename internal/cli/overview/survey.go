package overview

import (
	"context"
	"fmt"
	"sync"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// sources are where an overview is read.
type sources struct {
	list func(ctx context.Context) ([]openstack.Resource, error)
	seed func(ctx context.Context) (*target.Seed, error)
	// ask is health.
	ask func(ctx context.Context, seed *target.Seed, shelved bool) (facts, error)
}

// survey lists what the cloud has of the environment, and asks its Kubernetes clusters at the
// same time. If the cloud says that the seed is shelved, or has nothing, what was asked of the
// seed until then does not count. unwell is why the clusters are not known.
func (s sources) survey(ctx context.Context) (things []openstack.Resource, known facts, unwell, err error) {
	asking, nothing := patience(ctx)
	defer nothing()
	awake, asleep := context.WithCancel(asking)
	defer asleep()
	var (
		group  sync.WaitGroup
		seed   *target.Seed
		noSeed error
	)
	group.Go(func() {
		if seed, noSeed = s.seed(asking); noSeed == nil {
			known, unwell = s.ask(awake, seed, false)
		}
	})
	things, err = s.list(ctx)
	shelved := target.ShelvedSeed(things)
	if shelved {
		asleep()
	}
	if err != nil || len(things) == 0 {
		nothing()
	}
	group.Wait()
	switch {
	case err != nil || len(things) == 0:
		return things, facts{}, nil, err
	case noSeed != nil:
		return things, facts{}, noSeed, nil
	case shelved:
		direct, done := patience(ctx)
		defer done()
		known, unwell = s.ask(direct, seed, true)
	}
	return things, known, unwell, nil
}

// patience bounds what is asked of the clusters.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, healthTime, fmt.Errorf("no answer in %s", healthTime))
}
