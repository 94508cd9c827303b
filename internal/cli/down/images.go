package down

import (
	"context"
	"fmt"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
)

// listImages lists the images of spec.images that the environment uploaded, and
// what will happen to them.
func (o options) listImages(ctx context.Context, c *cloud.Cloud, environment string) ([]images.Retirement, error) {
	glance, err := images.NewGlance(c)
	if err != nil {
		return nil, err
	}
	list, err := glance.UploadedBy(ctx, environment)
	all, reason := []images.Retirement{}, "to delete it if nothing uses it, give --images"
	if o.images {
		reason = "unless nothing but the environment uses it"
	}
	for _, r := range list {
		all = append(all, images.Retirement{Record: r, Step: images.Keep, Reason: reason})
	}
	return all, err
}

// leaveImages deletes, with --images, those of the images that nothing can be
// using. It runs when the environment's own servers are gone.
func (o options) leaveImages(ctx context.Context, c *cloud.Cloud, environment string, progress event.Sink) ([]images.Retirement, error) {
	if !o.images {
		return o.listImages(ctx, c, environment)
	}
	glance, err := images.NewGlance(c)
	if err != nil {
		return nil, err
	}
	syncer := images.Syncer{Glance: glance, Events: progress}
	plan, err := syncer.LeavePlan(ctx, environment)
	if err != nil {
		return nil, err
	}
	return append([]images.Retirement{}, plan...), syncer.Prune(ctx, plan)
}

// imageLines say what happens to each image.
func (r result) imageLines() []string {
	var lines []string
	for _, i := range r.Images {
		word := map[images.Step]string{images.Keep: "stays", images.Delete: "deleted"}[i.Step]
		lines = append(lines, fmt.Sprintf("image %s (%s) %s: %s", i.Record.Name, i.Record.ID, word, i.Reason))
	}
	return lines
}
