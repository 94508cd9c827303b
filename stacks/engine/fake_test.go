package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/engine/pulumi"
)

// TestMain lets the test's binary be the engine, as main does.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == pulumi.Name {
		os.Exit(pulumi.Main(context.Background(), os.Args[1:], os.Environ()))
	}
	if os.Getenv(holdFolder) != "" {
		os.Exit(hold())
	}
	os.Exit(m.Run())
}

// cloud is what the resources of these tests are made in.
type cloud struct {
	mu     sync.Mutex
	things map[string]thingInputs
	made   int
	// began is closed when a thing called "slow" is being made, which goes on
	// until free is closed.
	began, free chan struct{}
	once        sync.Once
}

func newCloud() *cloud {
	return &cloud{things: map[string]thingInputs{}, began: make(chan struct{}), free: make(chan struct{})}
}

func (c *cloud) count() (now, made int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.things), c.made
}

type thing struct{ cloud *cloud }

type thingInputs struct {
	Label  string `pulumi:"label"`
	Secret string `pulumi:"secret,optional" provider:"secret"`
}

type thingState struct {
	thingInputs
	Size int `pulumi:"size"`
}

func (*thing) Annotate(a infer.Annotator) { a.SetToken("test", "Thing") }

func (r *thing) Create(ctx context.Context, request infer.CreateRequest[thingInputs]) (infer.CreateResponse[thingState], error) {
	state := thingState{request.Inputs, len(request.Inputs.Label)}
	if request.Inputs.Label == "impossible" {
		return infer.CreateResponse[thingState]{}, fault.Usage("thing "+request.Name, errors.New("there is no such label"), "choose another label")
	}
	if request.DryRun {
		return infer.CreateResponse[thingState]{Output: state}, nil
	}
	if request.Inputs.Label == "broken" {
		return infer.CreateResponse[thingState]{}, fault.New("thing "+request.Name, errors.New("no valid host"), "choose another label")
	}
	if request.Inputs.Label == "slow" {
		p.GetLogger(ctx).InfoStatus("waiting for the tide")
		r.cloud.once.Do(func() { close(r.cloud.began) })
		select {
		case <-r.cloud.free:
		case <-ctx.Done():
			return infer.CreateResponse[thingState]{}, ctx.Err()
		}
	}
	r.cloud.mu.Lock()
	defer r.cloud.mu.Unlock()
	r.cloud.things[request.Name] = request.Inputs
	r.cloud.made++
	return infer.CreateResponse[thingState]{ID: request.Name, Output: state}, nil
}

func (r *thing) Update(_ context.Context, request infer.UpdateRequest[thingInputs, thingState]) (infer.UpdateResponse[thingState], error) {
	if !request.DryRun {
		r.cloud.mu.Lock()
		defer r.cloud.mu.Unlock()
		r.cloud.things[request.ID] = request.Inputs
	}
	return infer.UpdateResponse[thingState]{Output: thingState{request.Inputs, len(request.Inputs.Label)}}, nil
}

func (r *thing) Delete(_ context.Context, request infer.DeleteRequest[thingState]) (infer.DeleteResponse, error) {
	r.cloud.mu.Lock()
	defer r.cloud.mu.Unlock()
	delete(r.cloud.things, request.ID)
	return infer.DeleteResponse{}, nil
}

// program makes things with the labels; each has the secret.
func program(labels ...string) sdk.RunFunc { return programWith(theSecret, labels...) }

// programWith makes things with another secret.
func programWith(secret string, labels ...string) sdk.RunFunc {
	return func(ctx *sdk.Context) error {
		for n, label := range labels {
			properties := sdk.Map{"label": sdk.String(label), "secret": sdk.ToSecret(sdk.String(secret))}
			var r struct{ sdk.CustomResourceState }
			if err := ctx.RegisterResource("slipway:test:Thing", fmt.Sprintf("thing-%d", n), properties, &r); err != nil {
				return err
			}
		}
		ctx.Export("answer", sdk.String("42"))
		ctx.Export("hidden", sdk.ToSecret(sdk.String(theSecret)))
		return nil
	}
}

const theSecret = "correct-horse-battery-staple"

func newEngine(t *testing.T, c *cloud, folder string, events event.Sink) *engine.Engine {
	t.Helper()
	e, err := engine.New(options(c, folder, events))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func options(c *cloud, folder string, events event.Sink) engine.Options {
	return engine.Options{Environment: "test", Folder: folder, Events: events,
		Passphrase: engine.PassphraseFile(filepath.Join(folder, "passphrase")),
		Resources:  func() []infer.InferredResource { return []infer.InferredResource{infer.Resource(&thing{c})} }}
}
