package takeover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// Options are what an operator of Slipway says.
type Options struct {
	// Environment is the name of the management cluster on its seed; empty if there is only
	// one.
	Environment string
	// Image is the reference of the controllers' image; empty is that of this binary, or of
	// the takeover that continues.
	Image string
}

// Look says what becomes of the clusters of an environment, the management cluster and its
// seed, or one of them. It only reads.
func Look(ctx context.Context, sites []Site, o Options) (*Plan, error) {
	p := &Plan{Environment: o.Environment, Clusters: []*Cluster{}}
	for _, site := range sites {
		c := &Cluster{Role: site.Role, State: New, site: site, Items: []Item{}, Untouched: map[string]int{}}
		if err := c.look(ctx, o); err != nil {
			return nil, fault.New(string(site.Role), err, "check that its API server answers from here, and its kubeconfig")
		}
		p.Clusters = append(p.Clusters, c)
		if site.Role == Seed {
			p.seed = c
		}
	}
	if p.seed != nil {
		if err := p.lookAtRelease(ctx); err != nil {
			return nil, err
		}
	}
	for _, c := range p.Clusters {
		if c.record != nil && c.record.Environment != "" && p.Environment != "" && c.record.Environment != p.Environment {
			c.problem("environment "+p.Environment, "name that one, or hand it back first with --hand-back", "the cluster was adopted as environment %s", c.record.Environment)
		}
	}
	return p, nil
}

// look collects what there is on one cluster, and each problem.
func (c *Cluster) look(ctx context.Context, o Options) error {
	if ok, err := c.allowed(ctx); err != nil || !ok {
		return err
	}
	var err error
	if c.record, err = c.readRecord(ctx); err != nil {
		return err
	}
	if c.record != nil {
		c.State = Interrupted
		if c.record.Complete {
			c.State = Done
		}
	}
	if known, err := c.clusterAPI(ctx); err != nil || !known {
		return err
	}
	if err := c.find(ctx); err != nil {
		return err
	}
	if c.State == Ours {
		return c.others(ctx)
	}
	if err := c.byHand(ctx); err != nil {
		return err
	}
	settings, err := c.settings(ctx, o)
	if err != nil {
		return err
	}
	if err := c.compare(ctx, settings); err != nil {
		return err
	}
	if err := c.addons(ctx); err != nil {
		return err
	}
	c.unused()
	return c.others(ctx)
}

// lookAtRelease finds the management cluster on its seed, and says what becomes of its
// release.
func (p *Plan) lookAtRelease(ctx context.Context) error {
	spaces := map[string][]string{}
	var found []string
	for _, one := range p.seed.clusters {
		spaces[one.GetNamespace()] = append(spaces[one.GetNamespace()], one.GetName())
		if p.Environment == "" || one.GetName() == p.Environment {
			found = append(found, one.GetNamespace()+"/"+one.GetName())
		}
	}
	for _, space := range sorted(spaces) {
		if names := spaces[space]; len(names) > 1 {
			p.seed.problem("namespace "+space, "keep one management cluster in a namespace of its seed: move or delete the others", "%d management clusters are in it: %s", len(names), join(names))
		}
	}
	if len(found) != 1 && len(p.seed.Problems) > 0 {
		return nil // they say why
	}
	if len(found) != 1 {
		return p.which(found)
	}
	for _, one := range p.seed.clusters {
		if one.GetNamespace()+"/"+one.GetName() != found[0] {
			continue
		}
		p.Environment = one.GetName()
		plan, err := adopt.New(ctx, p.seed.site.Clusters, one.GetName(), one.GetNamespace())
		if err != nil {
			return err
		}
		p.Release = &plan.Clusters[0]
		p.Rolls = p.Release.Rolls
		p.seed.Items = slices.DeleteFunc(p.seed.Items, func(item Item) bool { return item.Object == "release "+found[0] })
	}
	return nil
}

// Values are those of the release of the management cluster, without credentials; nil where
// they are not known.
func (p *Plan) Values() (map[string]any, error) {
	if p.Release == nil || p.Release.Verdict != adopt.Adopt && p.Release.Verdict != adopt.Ours {
		return nil, nil
	}
	values := p.Release.Values()
	if p.Release.Verdict == adopt.Ours {
		release, err := p.seed.site.Clusters.Releases.Last(p.Release.Namespace, p.Release.Name)
		if err != nil || release == nil {
			return nil, err
		}
		values = release.Config
	}
	values = maps.Clone(values)
	delete(values, "adopted")
	delete(values, "clouds")
	return values, nil
}

// which says that the management cluster is not clear.
func (p *Plan) which(found []string) error {
	if p.Environment != "" {
		return fault.Usage("environment "+p.Environment, errors.New("the seed has no Cluster of this name"), "see kubectl get clusters -A on the seed")
	}
	if len(found) == 0 {
		return fault.Usage("seed", errors.New("it has no Cluster of Cluster API"), "give the kubeconfig of the seed with --seed-kubeconfig, or that of the management cluster alone with --kubeconfig")
	}
	return fault.Usage("seed", fmt.Errorf("it has %d management clusters: %s", len(found), join(found)), "name one: slipway adopt environment NAME")
}
