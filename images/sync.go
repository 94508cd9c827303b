package images

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Syncer makes Glance equal to a manifest.
type Syncer struct {
	Glance *Glance
	// Source opens the images' sources.
	Source source.Opener
	Events event.Sink
	// Jobs is the number of images uploaded in parallel; 0 means 2. Each takes about
	// 16 MiB of memory.
	Jobs int
	// TempDir is for conversion; "" is the system's.
	TempDir string
	// Replace allows replacing an image that has the name but other bytes.
	Replace bool
	// UploadedBy is the environment for which images are uploaded; empty means none.
	UploadedBy string
	// MemberLogin logs in to an entry of clouds.yaml, to accept what is shared
	// with its project. nil: only our own login accepts.
	MemberLogin func(ctx context.Context, name string) (*gophercloud.ServiceClient, error)
	// Lease is how long an unfinished image is left to the run that brings it
	// after that was last heard of; 0 is 30 seconds.
	Lease time.Duration
	// ImportWait bounds how long Glance may take for an import; 0 is 15 minutes.
	ImportWait time.Duration
	// Poll is the first pause between two looks at an import; 0 is 200 ms.
	Poll time.Duration

	maxDiskGiB int
}

// Result is what was done about one image.
type Result struct {
	Key    string `json:"key"`
	Name   string `json:"name"`
	ID     string `json:"id"`
	Action Action `json:"action"`
	// Changed says that something was uploaded or changed.
	Changed bool `json:"changed"`
	// Bytes that Glance was sent.
	Bytes  int64  `json:"bytes,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Sync brings what is missing and describes what is there. Images continue when
// others fail; the results are of those that did not, in the manifest's order.
func (s *Syncer) Sync(ctx context.Context, m *manifest.Manifest) ([]Result, error) {
	visible, err := s.visible(ctx, m)
	if err != nil {
		return nil, err
	}
	m, without := s.withDigests(ctx, m, oneOf(visible))
	if len(m.Spec.Images) == 0 || ctx.Err() != nil {
		return nil, without
	}
	list, err := s.withHidden(ctx, m, visible)
	if err != nil {
		return nil, err
	}
	m, more := s.withDigests(ctx, m, oneOf(list[len(visible):]))
	without = errors.Join(without, more)
	c := *s
	c.maxDiskGiB, c.Jobs, c.Lease = m.Spec.MaxDisk, cmp.Or(s.Jobs, 2), cmp.Or(s.Lease, 30*time.Second)
	c.ImportWait, c.Poll = cmp.Or(s.ImportWait, 15*time.Minute), cmp.Or(s.Poll, 200*time.Millisecond)
	results, errs := make([]*Result, len(m.Spec.Images)), make([]error, len(m.Spec.Images))
	var group errgroup.Group
	group.SetLimit(c.Jobs)
	for n, i := range m.Spec.Images {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			results[n], errs[n] = c.one(ctx, m, i, list)
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	var done []Result
	for _, r := range results {
		if r != nil {
			done = append(done, *r)
		}
	}
	return done, verdict(errors.Join(append(errs, without)...), done)
}

// verdict says whether something was done besides the failure.
func verdict(err error, done []Result) error {
	for _, r := range done {
		if err != nil && r.Changed {
			return &fault.Fault{Exit: fault.ExitPartial, Err: err}
		}
	}
	return err
}

// look lists what there is: one call, and a second for hidden images when one
// of the manifest's is not among the others.
func (s *Syncer) look(ctx context.Context, m *manifest.Manifest) ([]Record, error) {
	visible, err := s.visible(ctx, m)
	if err != nil {
		return nil, err
	}
	return s.withHidden(ctx, m, visible)
}

// visible lists the images that are not hidden.
func (s *Syncer) visible(ctx context.Context, m *manifest.Manifest) ([]Record, error) {
	return s.Glance.List(ctx, len(m.Spec.TrustedOwners) > 0, false)
}

// withHidden adds the hidden images when one of the manifest's can be among
// them.
func (s *Syncer) withHidden(ctx context.Context, m *manifest.Manifest, list []Record) ([]Record, error) {
	for _, i := range m.Spec.Images {
		choice, err := Identify(i, list, s.Glance.Project, m.Spec.TrustedOwners, s.Replace, time.Now())
		if i.Hidden || err == nil && choice.Action == Upload {
			hidden, err := s.Glance.List(ctx, len(m.Spec.TrustedOwners) > 0, true)
			return append(list, hidden...), err
		}
	}
	return list, nil
}

// one does what is to be done about one image.
func (s *Syncer) one(ctx context.Context, m *manifest.Manifest, i manifest.Image, list []Record) (*Result, error) {
	step := event.Start(s.Events, "image "+i.Name, "looking")
	result, err := s.bringOne(ctx, m, i, list, step)
	switch {
	case err != nil:
		step.End("", err)
		return nil, err
	case !result.Changed:
		step.Skip(result.Reason)
	case result.Action == Upload, result.Action == Resume:
		step.End("uploaded as "+result.ID, nil)
	default:
		step.End(result.Reason, nil)
	}
	return result, nil
}

func (s *Syncer) bringOne(ctx context.Context, m *manifest.Manifest, i manifest.Image, list []Record, step *event.Step) (*Result, error) {
	choice, err := Identify(i, list, s.Glance.Project, m.Spec.TrustedOwners, s.Replace, time.Now())
	if err == nil && choice.Action == Wait {
		if i.Digest() == "" { // what the other run brings is compared by it
			if err := s.digest(ctx, &i, always); err != nil {
				return nil, err
			}
		}
		choice, err = s.waitForOther(ctx, m, i, step)
	}
	if err != nil {
		return nil, err
	}
	if choice.Action == Use && s.keptPacked(ctx, i, *choice.Record) {
		choice = Choice{Action: Upload, Replaced: choice.Record, Reason: packedReason}
	}
	result := &Result{Key: i.Key, Name: i.Name, Action: choice.Action, Reason: choice.Reason}
	var r Record
	switch choice.Action {
	case Borrow:
		result.ID = choice.Record.ID
		return result, nil
	case Use:
		r = *choice.Record
		result.Changed, r, err = s.settle(ctx, i, r, r.VirtualSize)
		if result.Changed {
			result.Reason += ", properties updated"
		}
	default:
		r, result.Bytes, err = s.bring(ctx, i, choice, step)
		result.Changed = true
	}
	if err != nil {
		return nil, err
	}
	result.ID = r.ID
	shared, err := s.share(ctx, i, r, step)
	result.Changed = result.Changed || shared
	return result, err
}

// waitForOther waits until another run's upload is done or given up.
func (s *Syncer) waitForOther(ctx context.Context, m *manifest.Manifest, i manifest.Image, step *event.Step) (Choice, error) {
	for {
		step.Wait("another run is uploading this image")
		if err := pause(ctx, min(s.Lease/4, 5*time.Second)); err != nil {
			return Choice{}, err
		}
		list, err := s.Glance.List(ctx, false, false)
		if err != nil {
			return Choice{}, err
		}
		choice, err := Identify(i, list, s.Glance.Project, m.Spec.TrustedOwners, s.Replace, time.Now())
		if err != nil || choice.Action != Wait {
			return choice, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
