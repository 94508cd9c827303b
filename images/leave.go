package images

import (
	"context"
	"slices"

	"github.com/slipway-sh/slipway/images/manifest"
)

// UploadedBy lists the images of the project that an environment uploaded,
// hidden ones too.
func (g *Glance) UploadedBy(ctx context.Context, environment string) ([]Record, error) {
	var all []Record
	for _, hidden := range []bool{false, true} {
		list, err := g.List(ctx, false, hidden)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(list, func(r Record) bool {
			return r.Owner != g.Project || r.Properties[PropertyUploadedBy] != environment
		})...)
	}
	return all, nil
}

// Leave decides which images of an environment are deleted with it. Images that other
// projects may use, that are protected or in use, are kept. used is the result of Uses.
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

// LeavePlan applies Leave to the images that the environment has now. Prune executes
// the plan.
func (s *Syncer) LeavePlan(ctx context.Context, environment string) ([]Retirement, error) {
	list, err := s.Glance.UploadedBy(ctx, environment)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	used, err := s.Glance.Uses(ctx)
	if err != nil {
		return nil, err
	}
	return Leave(list, used), nil
}
