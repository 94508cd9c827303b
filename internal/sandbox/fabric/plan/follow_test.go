package plan_test

import (
	"context"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric/plan"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
)

// What was made in part is removed when it is deleted before it could be made whole.
func TestWhatWasMadeInPartIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fabric := &recorder{None: machine.NewNone(), broken: "+n "}
	f := plan.Follower{Store: w.cloud.Env.Store, Model: &w.cloud.Env.Model.Network, Cards: network.NewCore(w.cloud.Env),
		Fabric: fabric, Events: event.Discard{}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	other := must[*networks.Network](t)(networks.Create(t.Context(), w.client, networks.CreateOpts{Name: "other"}).Extract()).ID
	for _, what := range []string{"+n " + other, "-n " + other} {
		for end := time.Now().Add(10 * time.Second); !fabric.has(what); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no %q", what)
			}
		}
		if err := networks.Delete(t.Context(), w.client, other).ExtractErr(); err != nil && what[0] == '+' {
			t.Fatal(err)
		}
	}
}
