package images

import (
	"context"
	"slices"

	"github.com/slipway-sh/slipway/images/manifest"
)

// Brought lists the images of the project that an environment uploaded,
// hidden ones too.
func (g *Glance) Brought(ctx context.Context, environment string) ([]Record, error) {
	var all []Record
	for _, hidden := range []bool{false, true} {
		list, err := g.List(ctx, false, hidden)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(list, func(r Record) bool {
			return r.Owner != g.Project || r.Properties[PropertyBroughtBy] != environment
		})...)
	}
	return all, nil
}

// Leave decides what happens to the images that an environment brought when it
// goes: what others may use, or what something does use, stays. used is as
// Uses returns it. It is pure.
func Leave(list []Record, used map[string]string) []Retirement {
	var all []Retirement
	for _, r := range list {
		step, reason := Delete, "nothing uses it"
		switch {
		case r.Visibility != manifest.VisibilityPrivate:
			step, reason = Keep, "it is "+r.Visibility+": other projects may use it"
		case r.Protected:
			step, reason = Keep, "it is protected"
		case used[r.ID] != "":
			step, reason = Keep, "used by "+used[r.ID]
		case used[r.Name] != "" && !r.Hidden:
			step, reason = Keep, "used by "+used[r.Name]
		}
		all = append(all, Retirement{r, step, reason})
	}
	return all
}

// LeavePlan is what Leave says about an environment's images as they are now;
// Prune carries it out.
func (s *Syncer) LeavePlan(ctx context.Context, environment string) ([]Retirement, error) {
	list, err := s.Glance.Brought(ctx, environment)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	used, err := s.Glance.Uses(ctx)
	if err != nil {
		return nil, err
	}
	return Leave(list, used), nil
}
