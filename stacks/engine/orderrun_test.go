package engine_test

import (
	"context"
	"reflect"
	"testing"

	sdk "github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// chain makes a thing, and one after it that takes its time.
func chain(ctx *sdk.Context) error {
	var first, second struct{ sdk.CustomResourceState }
	if err := ctx.RegisterResource("slipway:test:Thing", "first", sdk.Map{"label": sdk.String("a")}, &first); err != nil {
		return err
	}
	return ctx.RegisterResource("slipway:test:Thing", "second", sdk.Map{"label": sdk.String("slow")}, &second, sdk.DependsOn([]sdk.Resource{&first}))
}

// TestTheOrderIsKnownWhileAStepIsMade, from beside the run that makes it, and afterwards.
func TestTheOrderIsKnownWhileAStepIsMade(t *testing.T) {
	t.Parallel()
	c, folder := newCloud(), t.TempDir()
	beside := newEngine(t, c, folder, nil)
	if order, err := beside.Order(t.Context()); err != nil || len(order) != 0 {
		t.Errorf("of nothing: %v, %v", order, err)
	}
	run, ended := newEngine(t, c, folder, nil), make(chan error, 1)
	go func() { _, err := run.Up(context.Background(), chain); ended <- err }()
	<-c.began
	for _, when := range []string{"while it is made", "afterwards"} {
		order, err := beside.Order(t.Context())
		if err != nil || !reflect.DeepEqual(order["second"], []string{"first"}) || len(order["first"]) != 0 {
			t.Errorf("%s: %v, %v", when, order, err)
		}
		if when == "while it is made" {
			close(c.free)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
	}
}
