package images

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/event"
)

// Step is what happens to an image that left the manifest.
type Step string

// The steps of retirement, in their order.
const (
	Keep   Step = "keep"
	Hide   Step = "hide"
	Delete Step = "delete"
)

// Retirement is what happens to one image, and why.
type Retirement struct {
	Record Record `json:"image"`
	Step   Step   `json:"step"`
	Reason string `json:"reason"`
}

// Retire decides which images that Slipway uploaded are hidden or deleted; other images
// are not in the result. listed holds the IDs of images in the manifest. used maps IDs
// and names of images in use to their user.
func Retire(list []Record, listed map[string]bool, used map[string]string, policy manifest.Retire, now time.Time) []Retirement {
	list = slices.DeleteFunc(slices.Clone(list), func(r Record) bool { return r.Properties[PropertyMark] == "" })
	slices.SortStableFunc(list, func(a, b Record) int { return b.CreatedAt.Compare(a.CreatedAt) })
	kept := map[string]int{}
	var all []Retirement
	for _, r := range list {
		step, reason := Keep, ""
		switch {
		case listed[r.ID]:
			reason = "in the manifest"
		case r.lent():
			reason = "clusters in other projects use it"
		case !r.Active() || unfinished(r):
			step, reason = retireUnfinished(r, now)
		case used[r.ID] != "":
			reason = "used by " + used[r.ID]
		case used[r.Name] != "" && !r.Hidden:
			reason = "used by " + used[r.Name]
		default:
			step, reason = retireActive(r, kept[minor(r)], policy, now)
		}
		if r.Active() && step == Keep && !r.Hidden {
			kept[minor(r)]++
		}
		all = append(all, Retirement{r, step, reason})
	}
	return all
}

func retireUnfinished(r Record, now time.Time) (Step, string) {
	if now.Before(leaseOf(r)) {
		return Keep, "another run is uploading it"
	}
	return Delete, "an unfinished upload (" + r.Status + ")"
}

func retireActive(r Record, kept int, policy manifest.Retire, now time.Time) (Step, string) {
	if !r.Hidden {
		if kept < policy.Keep {
			return Keep, fmt.Sprintf("one of the newest %d of %s", policy.Keep, minor(r))
		}
		return Hide, fmt.Sprintf("not in the manifest; spec.retire.keep is %d for %s", policy.Keep, minor(r))
	}
	since, err := time.Parse(time.RFC3339, r.Properties[PropertyHidden])
	if err != nil {
		since = r.UpdatedAt
	}
	if end := since.Add(time.Duration(policy.DeleteAfter)); now.Before(end) {
		return Keep, "hidden, to be deleted after " + end.UTC().Format(time.DateTime)
	}
	return Delete, "hidden since " + since.UTC().Format(time.DateTime)
}

// minor is what an image competes in: its Kubernetes minor version, or those
// of none.
func minor(r Record) string {
	parts := strings.SplitN(KubernetesVersion(r), ".", 3)
	if len(parts) < 2 {
		return "no Kubernetes version"
	}
	return "v" + parts[0] + "." + parts[1]
}

// RetirementPlan lists what Prune would do.
func (s *Syncer) RetirementPlan(ctx context.Context, m *manifest.Manifest) ([]Retirement, error) {
	m, err := s.withDigests(ctx, m, always)
	if err != nil {
		return nil, err
	}
	var own []Record
	for _, hidden := range []bool{false, true} {
		list, err := s.Glance.List(ctx, false, hidden)
		if err != nil {
			return nil, err
		}
		own = append(own, slices.DeleteFunc(list, func(r Record) bool { return r.Owner != s.Glance.Project })...)
	}
	now, listed := time.Now(), map[string]bool{}
	for _, i := range m.Spec.Images {
		choice, err := Identify(i, own, s.Glance.Project, nil, true, now)
		if err != nil {
			return nil, err
		}
		for _, r := range []*Record{choice.Record, choice.Replaced} {
			if r != nil {
				listed[r.ID] = true
			}
		}
	}
	used, err := s.Glance.Uses(ctx)
	if err != nil {
		return nil, err
	}
	return Retire(own, listed, used, m.Spec.Retire, now), nil
}

// Prune executes a plan. If an image has come into use since, Glance refuses to delete it
// where its store can detect that; the error names the image.
func (s *Syncer) Prune(ctx context.Context, plan []Retirement) error {
	var errs []error
	for _, p := range plan {
		if p.Step == Keep {
			continue
		}
		step := event.Start(s.Events, "image "+p.Record.Name, string(p.Step))
		err := s.retire(ctx, p)
		step.End(p.Reason, err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Syncer) retire(ctx context.Context, p Retirement) error {
	r := p.Record
	if p.Step == Hide {
		_, err := s.Glance.patch(ctx, r, images.UpdateOpts{images.ReplaceImageHidden{NewHidden: true},
			images.UpdateImageProperty{Op: operation(r, PropertyHidden), Name: PropertyHidden, Value: time.Now().UTC().Format(time.RFC3339)}})
		return err
	}
	if r.Protected { // by the manifest that it has left
		if _, err := s.Glance.patch(ctx, r, images.UpdateOpts{images.ReplaceImageProtected{NewProtected: false}}); err != nil {
			return err
		}
	}
	return s.Glance.delete(ctx, r)
}
