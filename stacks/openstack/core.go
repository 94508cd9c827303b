package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// Ownership is the ownership of a resource: its environment and step. It is part of the inputs
// of every resource.
type Ownership struct {
	Environment string `pulumi:"environment" diff:"replace"`
	Step        string `pulumi:"step" diff:"replace"`
	// Tags are the user's tags, in addition to the ownership tag.
	Tags []string `pulumi:"tags,optional"`
}

func (o Ownership) mark() ownership.Owner { return ownership.New(o.Environment, o.Step) }

// inputs are the inputs of a resource, which embed Ownership.
type inputs interface{ mark() ownership.Owner }

// errGone is the error for a resource that does not exist.
var errGone = errors.New("does not exist")

// kind is the part that differs between resources. All methods can be called again after
// they failed half-way.
type kind[I inputs, S any] interface {
	// word is its readable type, such as "network".
	word() string
	// find returns the ID of the resource with the ownership tag, "" if there is
	// none, and an error if a foreign resource has its name.
	find(ctx context.Context, in I) (string, error)
	// make creates the resource, with its ownership tag, and returns its ID.
	make(ctx context.Context, in I) (string, error)
	// settle changes what differs from the inputs and can be changed, waits until the
	// resource is usable, and returns its state.
	settle(ctx context.Context, id string, in I) (S, error)
	// read returns the actual state, or errGone. in are the last inputs, for what
	// cannot be read back.
	read(ctx context.Context, id string, in I) (S, error)
	// remove deletes the resource and waits until it is gone.
	remove(ctx context.Context, id string, state S) error
}

// state gives access to the inputs in a resource's state.
type state[I any] interface{ inputs() I }

// controller makes a kind a resource of the engine.
type controller[I inputs, S state[I]] struct{ kind kind[I, S] }

// preview lets a kind say what is known before the resource is created.
type preview[I, S any] interface{ preview(in I) S }

// Create adopts the existing resource, or creates one.
func (c controller[I, S]) Create(ctx context.Context, r infer.CreateRequest[I]) (infer.CreateResponse[S], error) {
	var response infer.CreateResponse[S]
	if r.DryRun {
		if p, ok := c.kind.(preview[I, S]); ok {
			response.Output = p.preview(r.Inputs)
		}
		return response, nil
	}
	made := false
	err := again(ctx, func() error {
		id, err := c.kind.find(ctx, r.Inputs)
		if err == nil && id == "" {
			made = true
			id, err = c.kind.make(ctx, r.Inputs)
		}
		response.ID = id
		return err
	})
	if err == nil {
		err = again(ctx, func() (err error) {
			response.Output, err = c.kind.settle(ctx, response.ID, r.Inputs)
			return err
		})
	}
	if err == nil && !made {
		err = c.fits(ctx, response.ID, r.Inputs)
	}
	return response, c.explain("creating", r.Inputs, err)
}

// fits refuses an existing resource that differs in what cannot be changed: the state would
// be wrong, and the next refresh would replace the resource.
func (c controller[I, S]) fits(ctx context.Context, id string, in I) error {
	var found S
	err := again(ctx, func() (err error) {
		found, err = c.kind.read(ctx, id, in)
		return err
	})
	if err != nil {
		return err
	}
	var other []string
	for name, change := range diff(found.inputs(), in).DetailedDiff {
		if change.Kind == p.UpdateReplace {
			other = append(other, name)
		}
	}
	if len(other) == 0 {
		return nil
	}
	slices.Sort(other)
	return fault.Usage(c.kind.word()+" "+in.mark().Name(), fmt.Errorf("%s exists already, but differs from the environment file in what cannot be changed: %s", id, strings.Join(other, ", ")),
		"write its actual values into the environment file, or delete it")
}

// Read reads the resource. If it is not in the state, as in an import, a wrong ID is an
// error; otherwise it means that the resource was deleted.
func (c controller[I, S]) Read(ctx context.Context, r infer.ReadRequest[I, S]) (infer.ReadResponse[I, S], error) {
	known := r.State.inputs()
	if known.mark() == (ownership.Owner{}) {
		known = r.Inputs
	}
	var found S
	err := again(ctx, func() (err error) {
		found, err = c.kind.read(ctx, r.ID, known)
		return err
	})
	if errors.Is(err, errGone) && r.State.inputs().mark() != (ownership.Owner{}) {
		return infer.ReadResponse[I, S]{}, nil
	}
	if err != nil {
		return infer.ReadResponse[I, S]{}, c.explain("reading", known, fmt.Errorf("%s: %w", r.ID, err))
	}
	return infer.ReadResponse[I, S]{ID: r.ID, Inputs: found.inputs(), State: found}, nil
}

// Diff compares the inputs field by field; the fields' tags say what cannot be changed in
// place.
func (c controller[I, S]) Diff(_ context.Context, r infer.DiffRequest[I, S]) (infer.DiffResponse, error) {
	response := diff(r.State.inputs(), r.Inputs)
	_, beside := c.kind.(beside)
	response.DeleteBeforeReplace = !beside
	return response, nil
}

// beside is a kind that is replaced by creating the new resource first: the old one is
// deleted when nothing uses it any more.
type beside interface{ beside() }

// Update changes the resource in place, or creates it again if it is gone.
func (c controller[I, S]) Update(ctx context.Context, r infer.UpdateRequest[I, S]) (infer.UpdateResponse[S], error) {
	response := infer.UpdateResponse[S]{Output: r.State}
	if r.DryRun {
		return response, nil
	}
	err := again(ctx, func() (err error) {
		response.Output, err = c.kind.settle(ctx, r.ID, r.Inputs)
		return err
	})
	return response, c.explain("changing", r.Inputs, err)
}

// Delete deletes the resource; it is no error if it is gone.
func (c controller[I, S]) Delete(ctx context.Context, r infer.DeleteRequest[S]) (infer.DeleteResponse, error) {
	err := times(ctx, deletingAttempts, func() error { return c.kind.remove(ctx, r.ID, r.State) })
	if errors.Is(err, errGone) {
		err = nil
	}
	return infer.DeleteResponse{}, c.explain("deleting", r.State.inputs(), err)
}

func (c controller[I, S]) explain(doing string, in I, err error) error {
	if err == nil {
		return nil
	}
	return explain(c.kind.word()+" "+in.mark().Name(), fmt.Errorf("%s: %w", doing, err))
}
