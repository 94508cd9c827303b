// Package catalog is what an environment offers its cloud's users: node images in
// Glance and cluster templates in Magnum, as resources of the program. Package images
// does the work; this package connects it to the engine.
package catalog

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
)

// Options are the dependencies of the resources.
type Options struct {
	Cloud *cloud.Cloud
	// Source opens the images' sources.
	Source source.Opener
	// MemberLogin logs in to an entry of clouds.yaml, for a project with which an
	// image is shared; it may be nil.
	MemberLogin func(ctx context.Context, name string) (*gophercloud.ServiceClient, error)
}

// atOnce is how many images are uploaded at once: each takes memory and bandwidth.
const atOnce = 2

// Resources are the resources of this package, for the engine.
func Resources(o Options) []infer.InferredResource {
	return []infer.InferredResource{
		infer.Resource(&image{Options: o, turns: make(chan struct{}, atOnce)}),
		infer.Resource(&clusterTemplates{o}),
	}
}

// shown shows the events of a sync as the status of its resource.
type shown struct{ ctx context.Context }

// Emit shows the progress; the engine reports the result.
func (s shown) Emit(e event.Event) {
	logger := p.GetLogger(s.ctx)
	switch {
	case e.State != event.Started && e.State != event.Running && e.State != event.Waiting:
	case e.Total > 0:
		logger.InfoStatus(fmt.Sprintf("%d %% of %d MiB", e.Done*100/e.Total, e.Total>>20))
	case e.Message != "":
		logger.InfoStatus(e.Message)
	}
}

// diff compares inputs by their `pulumi` names; every difference is an update. summed
// names inputs that repeat the others: they are shown only if no other input differs.
func diff(old, now any, summed ...string) infer.DiffResponse {
	all, plain := map[string]p.PropertyDiff{}, map[string]p.PropertyDiff{}
	before, after := reflect.ValueOf(old), reflect.ValueOf(now)
	for _, field := range reflect.VisibleFields(before.Type()) {
		name, a, b := field.Tag.Get("pulumi"), before.FieldByIndex(field.Index), after.FieldByIndex(field.Index)
		if reflect.DeepEqual(a.Interface(), b.Interface()) || a.Kind() == reflect.Map && a.Len()+b.Len() == 0 {
			continue
		}
		all[name] = p.PropertyDiff{Kind: p.Update, InputDiff: true}
		if !slices.Contains(summed, name) {
			plain[name] = all[name]
		}
	}
	if len(plain) == 0 {
		plain = all
	}
	return infer.DiffResponse{HasChanges: len(all) > 0, DetailedDiff: plain}
}

// properties are a struct of inputs by their `pulumi` names.
func properties(in any) pulumi.Map {
	all, value := pulumi.Map{}, reflect.ValueOf(in)
	for _, field := range reflect.VisibleFields(value.Type()) {
		all[field.Tag.Get("pulumi")] = pulumi.Any(value.FieldByIndex(field.Index).Interface())
	}
	return all
}
