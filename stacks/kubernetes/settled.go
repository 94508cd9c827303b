package kubernetes

import (
	"context"

	"github.com/pulumi/pulumi-go-provider/infer"
)

// kind is what differs between resources. settle may be called again after it
// failed half-way: it does what is missing.
type kind[I, S any] interface {
	// object is what people call it, such as "k3s on demo-seed".
	object(in I) string
	// id is the resource's.
	id(in I) string
	// blank is the state before anything is known but the inputs.
	blank(in I) S
	// settle makes it as the inputs say, waits until it is, and returns its
	// state.
	settle(ctx context.Context, in I) (S, error)
}

// updater is a kind that settles by what it was before, too.
type updater[I, S any] interface {
	update(ctx context.Context, old S, in I) (S, error)
}

// remover is a kind that does not just go with what it is on.
type remover[S any] interface {
	remove(ctx context.Context, state S) error
}

// state is what a resource's state gives: the inputs in it.
type state[I any] interface{ inputs() I }

// controller is a resource of the engine made of a kind. Everything is changed
// in place: what a new machine needs is the machine's resource to decide.
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

// Diff changes everything in place.
func (c controller[I, S]) Diff(_ context.Context, r infer.DiffRequest[I, S]) (infer.DiffResponse, error) {
	return inPlace(r.State.inputs(), r.Inputs), nil
}

// Delete removes what a kind has to remove.
func (c controller[I, S]) Delete(ctx context.Context, r infer.DeleteRequest[S]) (infer.DeleteResponse, error) {
	k, removes := c.kind.(remover[S])
	if !removes {
		return infer.DeleteResponse{}, nil
	}
	return infer.DeleteResponse{}, explain(c.kind.object(r.State.inputs()), k.remove(ctx, r.State))
}
