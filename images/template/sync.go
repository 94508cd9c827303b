package template

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Syncer makes Magnum's templates equal to a file.
type Syncer struct {
	cloud  *cloud.Cloud
	client *gophercloud.ServiceClient
	glance *images.Glance
	// Events take the progress.
	Events event.Sink
}

// New returns a syncer for the project that is logged in to, with the Magnum of
// the catalog.
func New(c *cloud.Cloud, events event.Sink) (*Syncer, error) { return NewAt(c, "", "", events) }

// NewAt is New with the Magnum at an address, such as one that the catalog has
// not yet; it ends with the API's version. "" is the catalog's. authority are the
// certificates in PEM that the address is trusted by besides the system's.
func NewAt(c *cloud.Cloud, endpoint, authority string, events event.Sink) (*Syncer, error) {
	var client *gophercloud.ServiceClient
	var err error
	if endpoint == "" {
		client, err = c.ContainerInfra()
	} else {
		client, err = c.Beside(cloud.ContainerInfra, endpoint, []byte(authority))
	}
	if err != nil {
		return nil, err
	}
	glance, err := images.NewGlance(c)
	if err != nil {
		return nil, err
	}
	return &Syncer{cloud: c, client: client, glance: glance, Events: events}, nil
}

// Project is the ID of the project that is logged in to.
func (s *Syncer) Project() string { return s.glance.Project }

// List lists the templates that the project can see, its own hidden ones too.
func (s *Syncer) List(ctx context.Context) ([]Live, error) {
	pages, err := clustertemplates.List(s.client, nil).AllPages(ctx)
	if err != nil {
		return nil, s.cloud.Fault("cluster templates", err)
	}
	var answer struct {
		Templates []Live `json:"clustertemplates"`
	}
	if err := pages.(clustertemplates.ClusterTemplatePage).ExtractInto(&answer); err != nil {
		return nil, fmt.Errorf("reading cluster templates: %w", err)
	}
	return answer.Templates, nil
}

// Images lists the images that templates may name.
func (s *Syncer) Images(ctx context.Context) ([]images.Record, error) {
	return s.glance.List(ctx, true, false)
}

// Plan says what Sync would do.
func (s *Syncer) Plan(ctx context.Context, f *File) ([]Change, error) {
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	records, err := s.Images(ctx)
	if err != nil {
		return nil, err
	}
	return Plan(f, list, records, s.Project())
}

// Sync carries a plan out and returns it with the IDs that came to be. Changes
// continue when one fails; only those that succeeded are returned.
func (s *Syncer) Sync(ctx context.Context, plan []Change) ([]Change, error) {
	var done []Change
	var errs []error
	for _, change := range plan {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		step := event.Start(s.Events, "cluster template "+change.Name, string(change.Step))
		err := s.apply(ctx, &change)
		switch {
		case err != nil:
			step.End("", err)
			errs = append(errs, err)
			continue
		case change.Step == Keep:
			step.Skip(change.Reason)
		default:
			step.End(change.Reason, nil)
		}
		done = append(done, change)
	}
	return done, errors.Join(errs...)
}

func (s *Syncer) apply(ctx context.Context, c *Change) error {
	switch c.Step {
	case Create:
		return s.create(ctx, c)
	case Update:
		for _, d := range c.Differences { // one at a time: Magnum takes no more of a template in use
			if err := s.patch(ctx, c.live, d.Field, d.Wants); err != nil {
				return s.cloud.Fault(c.live.object()+": changing "+d.Field, err)
			}
		}
	case Replace:
		return s.replace(ctx, c)
	case Retire:
		return s.retire(ctx, c, c.live)
	}
	return nil
}

// body is what Magnum is given to make a template.
type body map[string]any

// ToClusterCreateMap is what gophercloud asks for.
func (b body) ToClusterCreateMap() (map[string]any, error) { return b, nil }

func (s *Syncer) create(ctx context.Context, c *Change) error {
	made, err := clustertemplates.Create(ctx, s.client, body(c.body)).Extract()
	if err != nil {
		return s.refused("cluster template "+c.Name+": creating", err, c.body["public"] == true)
	}
	c.UUID = made.UUID
	return nil
}

// refused names the right that is missing.
func (s *Syncer) refused(object string, err error, public bool) error {
	found := s.cloud.Fault(object, err)
	var f *fault.Fault
	if public && gophercloud.ResponseCodeIs(err, 403) && errors.As(found, &f) {
		return fault.New(f.Object, f.Err, "public templates need the policy right clustertemplate:publish: leave out public, or use an administrator's login")
	}
	return found
}

func (s *Syncer) patch(ctx context.Context, l *Live, name string, value any) error {
	return clustertemplates.Update(ctx, s.client, l.UUID, []clustertemplates.UpdateOpts{{Op: clustertemplates.ReplaceOp, Path: "/" + name, Value: value}}).Err
}

// replace makes a new template under the name. The old one gets another name
// first, because Magnum answers 409 to a name that two have, and back if the
// new one cannot be made.
func (s *Syncer) replace(ctx context.Context, c *Change) error {
	old := c.live
	if err := s.patch(ctx, old, "name", old.Name+"-"+old.UUID[:8]); err != nil {
		return s.cloud.Fault(old.object()+": renaming", err)
	}
	if err := s.create(ctx, c); err != nil {
		if back := s.patch(context.WithoutCancel(ctx), old, "name", old.Name); back != nil {
			err = errors.Join(err, s.cloud.Fault(old.object()+": restoring its name", back))
		}
		return err
	}
	return s.retire(ctx, c, old)
}

// retire deletes a template that no cluster uses, and hides others: the next
// run tries again.
func (s *Syncer) retire(ctx context.Context, c *Change, old *Live) error {
	err := clustertemplates.Delete(ctx, s.client, old.UUID).ExtractErr()
	switch {
	case err == nil || gophercloud.ResponseCodeIs(err, 404):
		c.Reason += "; the old one is deleted"
		return nil
	case !gophercloud.ResponseCodeIs(err, 400) && !gophercloud.ResponseCodeIs(err, 409):
		return s.cloud.Fault(old.object()+": deleting", err)
	case old.Hidden:
		c.Reason += "; the old one is hidden because clusters use it"
		return nil
	}
	err = s.patch(ctx, old, "hidden", true)
	if gophercloud.ResponseCodeIs(err, 403) {
		c.Reason += "; clusters use the old one, and hiding it needs the policy right clustertemplate:publish"
		return nil
	}
	c.Reason += "; the old one is hidden until no cluster uses it"
	return s.cloud.Fault(old.object()+": hiding", err)
}
