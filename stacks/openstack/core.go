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

// Owned says to which environment and step a thing belongs. It is part of the
// inputs of every resource.
type Owned struct {
	Environment string `pulumi:"environment" diff:"replace"`
	Step        string `pulumi:"step" diff:"replace"`
	// Tags are the user's, for things that have tags, besides the mark's.
	Tags []string `pulumi:"tags,optional"`
}

func (o Owned) mark() ownership.Owner { return ownership.New(o.Environment, o.Step) }

// inputs are the inputs of a resource: they have Owned.
type inputs interface{ mark() ownership.Owner }

// errGone says that a thing does not exist.
var errGone = errors.New("does not exist")

// kind is what differs between resources. All methods may be called again
// after they failed half-way.
type kind[I inputs, S any] interface {
	// word is what people call it, such as "network".
	word() string
	// find returns the id of the thing that carries the mark, "" if there is
	// none, and an error if a foreign thing has its name.
	find(ctx context.Context, in I) (string, error)
	// make makes the thing, with its mark, and returns its id.
	make(ctx context.Context, in I) (string, error)
	// settle changes what differs from the inputs and can be changed, waits
	// until the thing is usable and returns its state.
	settle(ctx context.Context, id string, in I) (S, error)
	// read returns the state as it is; errGone if there is none. in are the
	// inputs as they were, for what cannot be read back.
	read(ctx context.Context, id string, in I) (S, error)
	// remove deletes the thing and waits until it is gone.
	remove(ctx context.Context, id string, state S) error
}

// state is what a resource's state gives: the inputs in it.
type state[I any] interface{ inputs() I }

// controller is a resource of the engine made of a kind.
type controller[I inputs, S state[I]] struct{ kind kind[I, S] }

// preview lets a kind say what is known before the thing is made.
type preview[I, S any] interface{ preview(in I) S }

// Create takes the thing that is already there, or makes it.
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

// fits refuses a thing that was there already and differs in what cannot be
// changed: the state would say of it what is not so, and the next refresh would
// replace it.
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
	return fault.Usage(c.kind.word()+" "+in.mark().Name(), fmt.Errorf("%s was there before, and differs from the environment file in what cannot be changed: %s", id, strings.Join(other, ", ")),
		"say in the file what it has, or delete it")
}

// Read reads the thing. With nothing known of it, as in an import, a wrong id
// is an error; otherwise it means that the thing was deleted.
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

// Diff compares the inputs field by field; the tags of the fields say what
// cannot be changed in place.
func (c controller[I, S]) Diff(_ context.Context, r infer.DiffRequest[I, S]) (infer.DiffResponse, error) {
	response := diff(r.State.inputs(), r.Inputs)
	_, beside := c.kind.(beside)
	response.DeleteBeforeReplace = !beside
	return response, nil
}

// beside is a kind whose things are replaced by making the new one first: the
// old one goes when nothing uses it any more.
type beside interface{ beside() }

// Update changes the thing in place. One that is gone is made again.
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

// Delete deletes the thing; one that is gone is fine.
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
