// Package orphan finds what clusters that are gone have left in an environment's project,
// and says for each resource how it is known whose it was.
//
// A name proves nothing: another management cluster in the project may have a cluster of
// the same name, and anybody can write a name or a tag. What starts the search is an
// application credential of the operator with the environment's ownership tag, whose step
// has a hash of the cluster's namespace and name: nobody but the operator can make one. Only
// for such a cluster, if it does not exist any more and no machine of it runs, its
// resources are looked for.
package orphan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// Orphan is a resource that a cluster left.
type Orphan struct {
	openstack.Resource
	// Cluster is the cluster that it was made for, as namespace/name if the namespace is
	// known; the environment's name for the management cluster.
	Cluster string `json:"cluster"`
	// Proof is how it is known whose it was.
	Proof string `json:"proof"`
	// ByName is set if nothing but the name of the cluster shows that.
	ByName bool `json:"byName,omitempty"`
	// Kept says why it is not deleted; empty if it may be.
	Kept string `json:"kept,omitempty"`
}

// Survey is what is known before the project is looked at.
type Survey struct {
	Inventory openstack.Inventory
	// Project is the ID of the environment's project.
	Project     string
	Environment string
	// Content says that containers of object stores are deleted with their objects. Without it, those
	// that have objects stay.
	Content bool
	// Look says which clusters exist. It is asked before each look at the cloud.
	Look func(context.Context) (Alive, error)
}

// Alive is what must not be touched.
type Alive struct {
	// Clusters are those that exist, that are being made, and that are being deleted.
	Clusters []types.NamespacedName
	// Machines are the names of their Machines.
	Machines []string
}

// has reports whether a port has the name of one of the Machines.
func (a Alive) has(p ports.Port) bool {
	return slices.ContainsFunc(a.Machines, func(m string) bool { return p.Name == m || strings.HasPrefix(p.Name, m+"-") })
}

// Find lists the orphans in the order of their deletion, the credentials of clusters last:
// they are the proof for all others.
func (s Survey) Find(ctx context.Context) ([]Orphan, error) {
	l, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	alive, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	if len(s.gone(l.credentials, alive)) > 0 {
		if l.containers, err = s.Inventory.OwnedContainers(ctx, s.Environment); err != nil {
			return nil, fmt.Errorf("listing containers: %w", err)
		}
		if alive, err = s.look(ctx); err != nil {
			return nil, err
		}
	}
	return s.judge(l, alive, time.Now()), nil
}

// look reads the clusters. It comes last: whatever the cloud has by then belongs to one of them, if
// it has been made for one.
func (s Survey) look(ctx context.Context) (Alive, error) {
	alive, err := s.Look(ctx)
	if err != nil {
		return alive, fmt.Errorf("finding out which clusters exist: %w", err)
	}
	return alive, nil
}

// judge finds the orphans in what the project has. It is pure.
func (s Survey) judge(l lists, alive Alive, now time.Time) []Orphan {
	found := s.loosePorts(l, alive, now)
	for _, g := range s.gone(l.credentials, alive) {
		g.locate(l, alive)
		found = append(found, g.orphans(l, s.Content)...)
	}
	order := []string{openstack.TypeLoadBalancer, openstack.TypeFloatingIP, openstack.TypeRouter, openstack.TypePort, openstack.TypeSubnet, openstack.TypeNetwork, openstack.TypeSecurityGroup,
		openstack.TypeVolume, openstack.TypeContainer, openstack.TypeCredential}
	slices.SortStableFunc(found, func(a, b Orphan) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type)), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return found
}

// gone are the clusters of the environment that a credential is left of, and that do not
// exist any more. Those of an environment of the same name in another region are not asked for
// here, and nothing of them is in this region.
func (s Survey) gone(credentials []applicationcredentials.ApplicationCredential, alive Alive) []*former {
	living, names := map[string]bool{}, map[string]bool{}
	for _, key := range alive.Clusters {
		living[workload.Step(key)] = true
		names[key.Name] = true
	}
	var list []*former
	known := map[string]*former{}                   // by step
	rivals := map[string]map[ownership.Owner]bool{} // the clusters of a name, which can have several credentials
	for _, c := range credentials {
		mark, ok := ownership.FromDescription(c.Description)
		name, hash := nameIn(mark.Step)
		at := openstack.Belongs(s.Inventory, c.Description)
		if !ok || name == "" || at == openstack.Away || c.ProjectID != "" && s.Project != "" && c.ProjectID != s.Project {
			continue
		}
		if rivals[name] == nil {
			rivals[name] = map[ownership.Owner]bool{}
		}
		rivals[name][mark] = true
		if mark.Environment != s.Environment || living[mark.Step] || !strings.HasPrefix(c.Name, mark.Name()+"-") {
			continue
		}
		if known[mark.Step] == nil {
			known[mark.Step] = &former{name: name, hash: hash, step: mark.Step, environment: s.Environment}
			list = append(list, known[mark.Step])
		}
		known[mark.Step].credentials = append(known[mark.Step].credentials, c)
		if at == openstack.Unclear {
			known[mark.Step].runs = "its credential names no region, and the cloud has several: the cluster may be in another"
		}
	}
	for _, g := range list {
		switch {
		case names[g.name]:
			g.disputed = "a living cluster has the same name"
		case len(rivals[g.name]) > 1:
			g.disputed = "another cluster had or has the same name in this project"
		}
	}
	return list
}

// nameIn reads the cluster's name and the hash from the step of a credential.
func nameIn(step string) (name, hash string) {
	rest, is := strings.CutPrefix(step, ownership.ClusterPrefix)
	at := strings.LastIndex(rest, "-")
	if !is || at < 1 || len(rest)-at-1 != 8 {
		return "", ""
	}
	return rest[:at], rest[at+1:]
}

// young is how old a port must be: Cluster API makes those of a machine before its server.
const young = time.Hour

// loosePorts are those of machines of the management cluster that are gone: Nova does not
// delete ports that it did not create.
func (s Survey) loosePorts(l lists, alive Alive, now time.Time) []Orphan {
	var found []Orphan
	for _, p := range l.ports {
		mark, ok := ownership.FromTags(p.Tags)
		if !ok || mark.Environment != s.Environment || mark.Step != stacks.StepManagementCluster || p.DeviceID != "" || p.DeviceOwner != "" {
			continue
		}
		if now.Sub(p.CreatedAt) < young || alive.has(p) {
			continue
		}
		found = append(found, Orphan{Resource: openstack.Resource{Type: openstack.TypePort, ID: p.ID, Name: p.Name, Step: mark.Step, State: p.Status}, Cluster: s.Environment,
			Proof: "ownership tags of " + s.Environment + "; no server has it, and no Machine has its name"})
	}
	return found
}
