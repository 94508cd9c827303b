// Package site reads from the cloud what the proofs of a recovery judge, with the
// credentials that the restored clusters have themselves: so it sees the projects of
// all tenants, and proves that the credentials work.
package site

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/vain"
)

// parallel is how many projects are read at once.
const parallel = 8

// Site is the cloud of the restored clusters: one login for each project and region.
type Site struct {
	clouds map[place]*cloud.Cloud
	// places are those of the clusters whose login works.
	places map[string]place
	seen   recovery.Cloud
}

// place is where a cluster is: Keystone knows a project in all regions, and each region has
// things of its own in it.
type place struct{ project, region string }

// Open logs in with every login and lists each project once per region, whatever the number of
// clusters in it. A cluster whose project cannot be listed completely is noted in
// Cloud().Unread; only the end of ctx is an error.
func Open(ctx context.Context, logins []recovery.Login, userAgent string, progress func(done, total int)) (*Site, error) {
	s := &Site{clouds: map[place]*cloud.Cloud{}, places: map[string]place{}, seen: recovery.Cloud{Projects: map[string]string{}, Unread: map[string]string{}}}
	var mu sync.Mutex
	done := 0
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, l := range logins {
		group.Go(func() error {
			opened, at, err := enter(ctx, l, userAgent)
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(logins))
			if err != nil {
				s.seen.Unread[l.Cluster] = err.Error()
				return nil
			}
			s.seen.Projects[l.Cluster], s.places[l.Cluster] = at.project, at
			if s.clouds[at] != nil {
				opened.Close()
				return nil
			}
			s.clouds[at] = opened
			return nil
		})
	}
	_ = group.Wait() // no error is returned
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s, s.read(ctx)
}

// enter logs in and returns the project and the region.
func enter(ctx context.Context, l recovery.Login, userAgent string) (*cloud.Cloud, place, error) {
	if l.Err != nil {
		return nil, place{}, l.Err
	}
	o := cloud.Options{Cloud: l.Entry, Region: l.Region, CloudsYAML: l.CloudsYAML, CABundle: l.CA, UserAgent: userAgent}
	c, err := cloud.Open(ctx, o.Portable())
	if err != nil {
		return nil, place{}, err
	}
	token, err := c.Token()
	if err == nil && token.ProjectID == "" {
		err = errors.New("its login has no project")
	}
	return c, place{token.ProjectID, c.Where()}, err
}

// Cloud is what was listed.
func (s *Site) Cloud() recovery.Cloud { return s.seen }

// Close closes the connections.
func (s *Site) Close() {
	for _, c := range s.clouds {
		c.Close()
	}
}

// read lists all projects.
func (s *Site) read(ctx context.Context) error {
	seen, failed, err := s.each(ctx, (*cloud.Cloud).Diagnosis, needed())
	if err != nil {
		return err
	}
	for cluster, at := range s.places {
		if cause := failed[at]; cause != nil {
			s.seen.Unread[cluster] = cause.Error()
		}
	}
	for _, one := range seen {
		p := one.Token.ProjectID
		for _, n := range one.Networks {
			s.seen.Networks = append(s.seen.Networks, named(n.Resource, p, ""))
		}
		for _, r := range one.Routers {
			s.seen.Routers = append(s.seen.Routers, named(r.Resource, p, ""))
		}
		for _, g := range one.SecurityGroups {
			s.seen.SecurityGroups = append(s.seen.SecurityGroups, named(g.Resource, p, ""))
		}
		for _, n := range one.Ports {
			s.seen.Ports = append(s.seen.Ports, named(n.Resource, p, n.Status))
		}
		for _, f := range one.FloatingIPs {
			r := named(f.Resource, p, "")
			r.Address = f.Address
			s.seen.FloatingIPs = append(s.seen.FloatingIPs, r)
		}
		for _, v := range one.Volumes {
			s.seen.Volumes = append(s.seen.Volumes, named(v.Resource, p, v.Status))
		}
		running(&s.seen.Inventory, one)
		if off := one.ClockOffset; off.Abs() > s.seen.ClockOffset.Abs() {
			s.seen.ClockOffset = off
		}
	}
	return nil
}

// needed are the listings without which nothing can be proved.
func needed() []string {
	return []string{cloud.ListServers, cloud.ListPorts, cloud.ListNetworks, cloud.ListRouters, cloud.ListGroups, cloud.ListFloatingIPs, cloud.ListBalancers}
}

// Running lists the servers and load balancers of all projects again. If one cannot
// be listed completely, it is an error, and nothing can be concluded.
func (s *Site) Running(ctx context.Context) (snapshot.Inventory, error) {
	var now snapshot.Inventory
	seen, failed, err := s.each(ctx, (*cloud.Cloud).Running, needed())
	if err != nil {
		return now, err
	}
	for at, cause := range failed {
		return now, fmt.Errorf("project %s in region %q: %w", at.project, at.region, cause)
	}
	for _, one := range seen {
		running(&now, one)
	}
	return now, nil
}

func running(to *snapshot.Inventory, s *cloud.Snapshot) {
	for _, v := range s.Servers {
		to.Servers = append(to.Servers, named(v.Resource, s.Token.ProjectID, v.Status))
	}
	for _, b := range s.Balancers {
		to.LoadBalancers = append(to.LoadBalancers, named(b.Resource, s.Token.ProjectID, b.Provisioning))
	}
}

func named(r cloud.Resource, project, status string) snapshot.Resource {
	return snapshot.Resource{ID: r.ID, Name: r.Name, Project: project, Status: status}
}

// each takes a snapshot of every project in its regions. failed are the causes where a
// listing is missing. A cloud without load balancers has none to list.
func (s *Site) each(ctx context.Context, take func(*cloud.Cloud, context.Context) (*cloud.Snapshot, error), wanted []string) (all []*cloud.Snapshot, failed map[place]error, err error) {
	failed = map[place]error{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(parallel)
	for at, c := range s.clouds {
		group.Go(func() error {
			one, err := take(c, ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[at] = err
				return nil
			}
			var missing []string
			refused := false
			for _, m := range one.Missing {
				if !m.Absent && contains(wanted, m.What) || m.Absent && m.Service != cloud.LoadBalancer {
					missing = append(missing, m.Cause)
					refused = refused || vain.RefusedStatus(m.Status)
				}
			}
			if len(missing) > 0 {
				failed[at] = errors.New(strings.Join(missing, "; "))
				if refused {
					failed[at] = vain.Final(failed[at])
				}
			}
			all = append(all, one)
			return nil
		})
	}
	_ = group.Wait() // no error is returned
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return all, failed, nil
}

func contains(list []string, word string) bool {
	for _, one := range list {
		if one == word {
			return true
		}
	}
	return false
}
