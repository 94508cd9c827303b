package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// Take adopts the clusters of a plan that can be adopted, one after the other. One that
// fails does not keep the others from it. done receives each.
func (p *Plan) Take(ctx context.Context, site Site, done func(c *Cluster, changed bool)) error {
	var errs []error
	for i := range p.Clusters {
		c := &p.Clusters[i]
		changed, err := site.take(ctx, c)
		if err != nil {
			errs = append(errs, fmt.Errorf("adopting cluster %s: %w", c.Key(), err))
			continue
		}
		if c.Verdict != Refuse {
			done(c, changed)
		}
	}
	return errors.Join(errs...)
}

func (s Site) take(ctx context.Context, c *Cluster) (changed bool, err error) {
	switch c.Verdict {
	case Adopt:
		return true, s.takeRelease(ctx, c)
	case AsItIs:
		return s.record(ctx, c)
	case Ours:
		if c.unsettled == nil {
			return false, nil
		}
		return false, s.Releases.Settle(c.unsettled)
	}
	return false, nil
}

// takeRelease writes the next revision of the release, if the cluster is as it was when it
// was looked at.
func (s Site) takeRelease(ctx context.Context, c *Cluster) error {
	now, err := s.judge(ctx, found{key: c.Key(), cluster: c.seen.cluster, release: c.release})
	if err != nil {
		return err
	}
	before := c.marks()
	if now.Verdict != Adopt || !maps.Equal(before, now.marks()) {
		return fault.New("cluster "+c.Key().String(), errors.New("somebody changed it while it was looked at; nothing was written"), "run the same command again")
	}
	own, err := openstackcluster.Chart()
	if err != nil {
		return err
	}
	err = s.Releases.TakeOver(c.release, helm.Takeover{Chart: own, Values: c.values, Manifest: c.manifest, Labels: map[string]string{workload.LabelCluster: c.Name},
		Description: adoptedFrom + c.MadeBy})
	if errors.Is(err, helm.ErrMoved) {
		return fault.New("cluster "+c.Key().String(), err, "run the same command again")
	}
	return err
}

// marks are the generations of what must not change.
func (c *Cluster) marks() map[string]int64 {
	all := map[string]int64{}
	add := func(o *unstructured.Unstructured) {
		if o != nil {
			all[nameOf(o)+" "+string(o.GetUID())] = o.GetGeneration()
		}
	}
	add(c.seen.plane)
	for _, o := range c.seen.deployments {
		add(o)
	}
	for i := range c.seen.machines {
		add(&c.seen.machines[i])
	}
	return all
}
