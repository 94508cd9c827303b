// Package upstream fetches the parts of a bundle from where their projects
// publish them: release files over HTTPS and images from registries. It accepts
// only content whose digest is pinned, continues where an earlier run stopped,
// and keeps what is good when something else fails.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Pull fetches the components into a folder opened for writing. A component
// that is there already with the pinned content costs no request. One that
// fails does not stop the others; the error joins a fault for each, which ends
// the program with fault.ExitPartial when anything was kept. A cancelled
// context ends the pull with its cause; partial downloads stay for the next.
func Pull(ctx context.Context, folder *bundle.Folder, components []component.Component, o Options) error {
	p, err := newPuller(o)
	if err != nil {
		return err
	}
	p.folder = folder
	if platform := folder.Bill().Platform; platform != p.platform.String() {
		return fault.Usage(folder.Dir(), fmt.Errorf("the bundle is for %s, but upstream's pins are for %s", platform, p.platform), "use another folder with --dir")
	}
	jobs, parts := p.plan(components)
	group := errgroup.Group{}
	group.SetLimit(p.Jobs)
	for _, job := range jobs {
		group.Go(func() error {
			p.run(ctx, job)
			return nil
		})
	}
	_ = group.Wait()
	err = outcome(ctx, "pulling the bundle", parts)
	if err == nil {
		p.sweep()
	}
	return err
}

// part is one component on its way into the bundle.
type part struct {
	component.Component
	pin  component.Pin
	step *event.Step
	kept bool
	err  error
}

// plan groups the components into downloads: those that are members of the
// same archive share one. Parts that must be refused are jobs of their own.
func (p *puller) plan(components []component.Component) (jobs [][]*part, parts []*part) {
	archives := map[string]int{}
	for _, c := range components {
		one := &part{Component: c}
		one.pin, one.err = p.accepted(c)
		parts = append(parts, one)
		if i, ok := archives[one.pin.SHA256]; ok && one.err == nil && one.pin.SHA256 != "" {
			jobs[i] = append(jobs[i], one)
			continue
		}
		if one.err == nil && one.pin.SHA256 != "" {
			archives[one.pin.SHA256] = len(jobs)
		}
		jobs = append(jobs, []*part{one})
	}
	return jobs, parts
}

// run does one download and keeps what comes of it, telling each part.
func (p *puller) run(ctx context.Context, job []*part) {
	var todo []*part
	for _, one := range job {
		if ctx.Err() != nil {
			one.err = context.Cause(ctx)
			continue
		}
		one.step = event.Start(p.Sink, one.Name, "reading the bundle")
		if reason := p.present(ctx, one); reason != "" {
			one.kept, one.err = true, nil
			one.step.Skip(reason)
		} else if one.err != nil {
			one.step.End("", one.err)
		} else {
			todo = append(todo, one)
		}
	}
	if len(todo) == 0 {
		return
	}
	if todo[0].Kind == bundle.Image {
		p.runImage(ctx, todo[0])
	} else {
		p.runFile(ctx, todo)
	}
	for _, one := range todo {
		one.kept = one.err == nil
		one.step.End("verified and stored", one.err)
	}
}

// present says why a part needs no download, or returns "".
func (p *puller) present(ctx context.Context, one *part) string {
	item := p.folder.Bill().Item(one.Name)
	if item == nil || item.Version != one.Version || item.Path != one.Path || item.Ref != one.Ref {
		return ""
	}
	reason := "in the bundle"
	if one.err != nil {
		// Nothing is pinned, but what was built from source fills the place.
		if item.Recipe == "" {
			return ""
		}
		reason = "in the bundle, built from source"
	} else if item.Source != one.pin.Source() || (one.pin.URL == item.Source && item.SHA256 != one.pin.SHA256) {
		return ""
	}
	findings, err := p.folder.Verify(ctx, event.Discard{}, one.Name)
	if err != nil || len(findings) > 0 {
		return ""
	}
	return reason
}

// record enters a stored part into the bill.
func (p *puller) record(one *part, stored bundle.Digest) error {
	return p.folder.Record(bundle.Item{
		Name: one.Name, Kind: one.Kind, Version: one.Version, Source: one.pin.Source(), License: one.License,
		Size: stored.Size, SHA256: stored.SHA256, Path: one.Path, Ref: one.Ref,
	})
}

// outcome joins the faults of the parts. Those that only stopped because the
// context did are left out for its cause.
func outcome(ctx context.Context, doing string, parts []*part) error {
	exit := fault.ExitFailure
	for _, one := range parts {
		if one.kept {
			exit = fault.ExitPartial
		}
	}
	var all []error
	if ctx.Err() != nil {
		all = append(all, fmt.Errorf("%s: %w", doing, context.Cause(ctx)))
	}
	for _, one := range parts {
		var f *fault.Fault
		if errors.As(one.err, &f) {
			f.Exit = exit
			all = append(all, f)
		} else if one.err != nil && ctx.Err() == nil {
			all = append(all, one.err)
		}
	}
	return errors.Join(all...)
}

func (p *puller) partials() string {
	return filepath.Join(p.folder.Dir(), bundle.WorkDir, "partial")
}
