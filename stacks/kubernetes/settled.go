package kubernetes

import (
	"context"

	"github.com/pulumi/pulumi-go-provider/infer"
)

// kind is the part that differs between resources. settle can be called again after it
// failed half-way: it does what is missing.
type kind[I, S any] interface {
	// object is its readable name, such as "k3s on demo-seed".
	object(in I) string
	// id is the ID of the resource.
	id(in I) string
	// blank is the state when only the inputs are known.
	blank(in I) S
	// settle reconciles it with the inputs, waits, and returns its state.
	settle(ctx context.Context, in I) (S, error)
}

// updater is a kind whose settle also needs the previous state.
type updater[I, S any] interface {
	update(ctx context.Context, old S, in I) (S, error)
}

// remover is a kind that must be deleted explicitly; others go with their machine.
type remover[S any] interface {
	remove(ctx context.Context, state S) error
}

// state gives access to the inputs in a resource's state.
type state[I any] interface{ inputs() I }

// controller makes a kind a resource of the engine. Every change is made in place: whether
// a new machine is needed is decided by the machine's resource.
type controller[I any, S state[I]] struct{ kind kind[I, S] }

// Create settles it for the first time.
func (c controller[I, S]) Create(ctx context.Context, r infer.CreateRequest[I]) (infer.CreateResponse[S], error) {
	response := infer.CreateResponse[S]{ID: c.kind.id(r.Inputs), Output: c.kind.blank(r.Inputs)}
	if r.DryRun {
		return response, nil
	}
	settled, err := c.kind.settle(ctx, r.Inputs)
	response.Output = settled
	return response, explain(c.kind.object(r.Inputs), err)
}

// Update settles it again.
func (c controller[I, S]) Update(ctx context.Context, r infer.UpdateRequest[I, S]) (infer.UpdateResponse[S], error) {
	response := infer.UpdateResponse[S]{Output: r.State}
	if r.DryRun {
		return response, nil
	}
	settle := c.kind.settle
	if k, updates := c.kind.(updater[I, S]); updates {
		settle = func(ctx context.Context, in I) (S, error) { return k.update(ctx, r.State, in) }
	}
	settled, err := settle(ctx, r.Inputs)
	response.Output = settled
	return response, explain(c.kind.object(r.Inputs), err)
}

// Diff makes every change an update in place.
func (c controller[I, S]) Diff(_ context.Context, r infer.DiffRequest[I, S]) (infer.DiffResponse, error) {
	return inPlace(r.State.inputs(), r.Inputs), nil
}

// Delete removes a kind that must be deleted explicitly.
func (c controller[I, S]) Delete(ctx context.Context, r infer.DeleteRequest[S]) (infer.DeleteResponse, error) {
	k, removes := c.kind.(remover[S])
	if !removes {
		return infer.DeleteResponse{}, nil
	}
	return infer.DeleteResponse{}, explain(c.kind.object(r.State.inputs()), k.remove(ctx, r.State))
}
