package console

import (
	"context"
	"errors"
	"sync"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// connection is the one to the management cluster. It is kept from one reading to the next,
// and opened anew after a failure.
type connection struct {
	open func(context.Context) (m *workload.Management, leave func(), err error)

	mu      sync.Mutex
	current *opened
}

type opened struct {
	*workload.Management
	leave func()
	users int
	over  bool // closed when its last user is done
}

// with does work on the management cluster.
func (c *connection) with(ctx context.Context, do func(*workload.Management) error) error {
	o, err := c.take(ctx)
	if err != nil {
		return err
	}
	err = do(o.Management)
	c.mu.Lock()
	defer c.mu.Unlock()
	o.users--
	if err != nil {
		o.over = true
	}
	if o.over && c.current == o {
		c.current = nil
	}
	if o.over && o.users == 0 {
		o.leave()
	}
	return err
}

func (c *connection) take(ctx context.Context) (*opened, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		m, leave, err := c.open(ctx)
		if err != nil {
			return nil, err
		}
		c.current = &opened{Management: m, leave: leave}
	}
	c.current.users++
	return c.current, nil
}

// openManagement connects to the management cluster that the state has. That there is none yet
// is no fault.
func openManagement(from environment.Flags) func(context.Context) (*workload.Management, func(), error) {
	return func(ctx context.Context) (*workload.Management, func(), error) {
		seed, loaded, err := target.OpenSeed(ctx, from)
		if errors.Is(err, target.ErrNoSeedInState) {
			return nil, nil, console.NotYet{Err: err}
		}
		if err != nil {
			return nil, nil, err
		}
		m, leave, err := seed.OpenManagement(ctx, loaded)
		if err != nil && seed.Management == "" {
			return nil, nil, console.NotYet{Err: err}
		}
		return m, leave, err
	}
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.current; o != nil {
		c.current, o.over = nil, true
		if o.users == 0 {
			o.leave()
		}
	}
}

// Clusters are what slipway cluster list prints.
func (s *sources) Clusters(ctx context.Context) (list []console.Cluster, err error) {
	if s.loaded == nil {
		return nil, s.missing
	}
	err = s.management.with(ctx, func(m *workload.Management) error {
		all, err := m.List(ctx)
		for _, c := range all {
			one := console.Cluster{Namespace: c.Namespace, Name: c.Name, MadeBy: string(c.MadeBy), Phase: c.Phase, Version: c.Version, ControlPlane: c.ControlPlane.String(), Workers: c.Workers.String(),
				Created: c.Created, Ready: c.Ready, Cause: c.Cause, Reason: c.Reason}
			list = append(list, tenant(one, c.Tenant))
		}
		return err
	})
	return list, err
}

func tenant(c console.Cluster, t *workload.Tenant) console.Cluster {
	if t != nil {
		c.Tenant, c.Project = t.Name, t.ProjectID
	}
	return c
}

// Cluster is what slipway cluster describe prints.
func (s *sources) Cluster(ctx context.Context, namespace, name string) (d console.Description, err error) {
	if s.loaded == nil {
		return d, s.missing
	}
	err = s.management.with(ctx, func(m *workload.Management) error {
		found, err := m.Describe(ctx, workload.Key{Namespace: namespace, Name: name})
		if err == nil {
			d = description(found)
		}
		return err
	})
	return d, err
}

func description(found workload.Description) console.Description {
	d := console.Description{Rows: parts(found.Report, ""), Details: found.Details, Findings: findings("", found.Findings), Unseen: unseen(found.Unseen)}
	d.Cluster = tenant(console.Cluster{Namespace: found.Namespace, Name: found.Name, MadeBy: string(found.MadeBy), Phase: found.State(), Version: found.Version,
		ControlPlane: found.ControlPlane.String(), Workers: found.Workers.String(), Created: found.Created, Ready: found.Ready()}, found.Tenant)
	if part, waiting := found.Waiting(); waiting {
		d.Cause = part.Cause
	}
	return d
}

// Causes are what slipway why prints.
func (s *sources) Causes(ctx context.Context) (console.Causes, error) {
	if s.loaded == nil {
		return console.Causes{}, s.missing
	}
	w, err := witness.Open(ctx, s.from)
	if err != nil {
		return console.Causes{}, err
	}
	defer w.Close()
	found := w.Snapshots(ctx, "", "").Explain("", "")
	c := console.Causes{Unseen: unseen(found.Unseen)}
	for _, a := range found.Answers {
		of := ""
		if a.Cluster != "" {
			of = a.Namespace + "/" + a.Cluster
		}
		for _, f := range findings(of, a.Findings) {
			f.Listed = of != "" && a.On == "management"
			c.Findings = append(c.Findings, f)
		}
		for _, u := range unseen(a.Unseen) {
			if of != "" {
				u.What = "cluster " + of + ": " + u.What
			}
			c.Unseen = append(c.Unseen, u)
		}
	}
	return c, nil
}

func findings(cluster string, list []cause.Finding) (all []console.Finding) {
	for _, f := range list {
		one := console.Finding{Cluster: cluster, Object: f.Object.String(), Cause: f.Cause, Reason: f.Reason, Source: f.Source, Fix: f.Fix, Since: f.Since,
			Evidence: f.Evidence, Consequences: f.Consequences, Final: f.Ending == cause.Final}
		for _, r := range f.Chain {
			one.Chain = append(one.Chain, r.String())
		}
		all = append(all, one)
	}
	return all
}

func unseen(list []cause.Unseen) (all []console.Unseen) {
	for _, u := range list {
		all = append(all, console.Unseen(u))
	}
	return all
}
