package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// patient ends requests that take too long: a target that accepts a connection
// and then says nothing is an error, not a hang.
type patient struct {
	Target
	limit time.Duration
}

func (p *patient) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.limit, fmt.Errorf("%w (%s)", ErrSlow, p.limit))
}

// late replaces an error of an ended request by why it ended.
func (p *patient) late(ctx context.Context, name string, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrSlow) {
		return told(p.String(), name, cause)
	}
	return fmt.Errorf("%s/%s: %w", p, name, context.Cause(ctx))
}

func (p *patient) Put(ctx context.Context, name string, content []byte) error {
	ctx, cancel := p.within(ctx)
	defer cancel()
	return p.late(ctx, name, p.Target.Put(ctx, name, content))
}

func (p *patient) List(ctx context.Context, prefix string) ([]Entry, error) {
	ctx, cancel := p.within(ctx)
	defer cancel()
	entries, err := p.Target.List(ctx, prefix)
	return entries, p.late(ctx, prefix, err)
}

func (p *patient) Delete(ctx context.Context, name string) error {
	ctx, cancel := p.within(ctx)
	defer cancel()
	return p.late(ctx, name, p.Target.Delete(ctx, name))
}

func (p *patient) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	ctx, cancel := p.within(ctx)
	body, err := p.Target.Get(ctx, name)
	if err != nil {
		defer cancel()
		return nil, p.late(ctx, name, err)
	}
	return &patientBody{body, p, ctx, cancel, name}, nil
}

// patientBody is the content of an object, whose reading ends with the limit.
type patientBody struct {
	io.ReadCloser
	p      *patient
	ctx    context.Context //nolint:containedctx // of one request, whose body this is
	cancel context.CancelFunc
	name   string
}

func (b *patientBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if b.ctx.Err() != nil {
		return n, b.p.late(b.ctx, b.name, err)
	}
	return n, told(b.p.String(), b.name, err)
}

func (b *patientBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
