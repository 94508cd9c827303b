// Package tenants lists what the projects of workload clusters have in the cloud, with
// the credentials that the clusters have themselves.
package tenants

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/site"
)

// Logins collects the logins of clusters from the objects of a backup, as they go by.
// The zero value is ready for use.
type Logins struct {
	clusters []cluster
	secrets  map[string]secret
	// shared are the Secrets, "namespace/name", of OpenStackClusterIdentities.
	shared map[string]string
}

type cluster struct {
	name, entry, region, namespace, identity string
	// shared says that identity is an OpenStackClusterIdentity, not a Secret.
	shared bool
}

type secret struct{ clouds, ca []byte }

// Reset forgets all.
func (l *Logins) Reset() { *l = Logins{} }

// Note looks at an object.
func (l *Logins) Note(o backup.Object) error {
	switch {
	case o.Group == "infrastructure.cluster.x-k8s.io" && o.Kind == "OpenStackCluster":
		var found struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				IdentityRef struct{ Type, Name, CloudName, Region string }
			}
		}
		if err := json.Unmarshal(o.JSON, &found); err != nil {
			return fmt.Errorf("reading OpenStackCluster %s/%s: %w", o.Namespace, o.Name, err)
		}
		name := cmp.Or(found.Metadata.Labels["cluster.x-k8s.io/cluster-name"], o.Name)
		by := found.Spec.IdentityRef
		l.clusters = append(l.clusters, cluster{o.Namespace + "/" + name, by.CloudName, by.Region, o.Namespace, by.Name, by.Type == "ClusterIdentity"})
	case o.Group == "infrastructure.cluster.x-k8s.io" && o.Kind == "OpenStackClusterIdentity":
		var found struct {
			Spec struct {
				SecretRef struct{ Namespace, Name string }
			}
		}
		if err := json.Unmarshal(o.JSON, &found); err != nil {
			return fmt.Errorf("reading OpenStackClusterIdentity %s: %w", o.Name, err)
		}
		if l.shared == nil {
			l.shared = map[string]string{}
		}
		l.shared[o.Name] = found.Spec.SecretRef.Namespace + "/" + found.Spec.SecretRef.Name
	case o.Group == "" && o.Kind == "Secret":
		var found struct {
			Data struct {
				Clouds []byte `json:"clouds.yaml"`
				CA     []byte `json:"cacert"`
			}
		}
		if json.Unmarshal(o.JSON, &found) != nil || len(found.Data.Clouds) == 0 {
			return nil // not a login; the library's error could quote it
		}
		if l.secrets == nil {
			l.secrets = map[string]secret{}
		}
		l.secrets[o.Namespace+"/"+o.Name] = secret{found.Data.Clouds, found.Data.CA}
	}
	return nil
}

// all are the logins, one of those that are equal.
func (l *Logins) all() (logins []recovery.Login, missing []string) {
	seen := map[string]bool{}
	for _, c := range l.clusters {
		at := c.namespace + "/" + c.identity
		if c.shared {
			at = cmp.Or(l.shared[c.identity], "of OpenStackClusterIdentity "+c.identity)
		}
		s, ok := l.secrets[at]
		if !ok {
			missing = append(missing, fmt.Sprintf(snapshot.MissingOfCluster+"%s: its Secret %s is not there", c.name, at))
			continue
		}
		if key := c.entry + "\n" + c.region + "\n" + string(s.clouds) + string(s.ca); !seen[key] {
			seen[key] = true
			logins = append(logins, recovery.Login{Cluster: c.name, Entry: c.entry, Region: c.region, CloudsYAML: s.clouds, CA: s.ca})
		}
	}
	return logins, missing
}

// Add adds to an inventory what the projects of all clusters have. A project that cannot
// be listed is Missing with its cause.
func (l *Logins) Add(ctx context.Context, to *snapshot.Inventory, userAgent string) error {
	logins, missing := l.all()
	to.Missing = append(to.Missing, missing...)
	if len(logins) == 0 {
		return nil
	}
	seen, err := site.Open(ctx, logins, userAgent, func(int, int) {})
	if err != nil {
		return fmt.Errorf("listing the projects of clusters: %w", err)
	}
	defer seen.Close()
	found := seen.Cloud()
	for _, name := range slices.Sorted(maps.Keys(found.Unread)) {
		to.Missing = append(to.Missing, fmt.Sprintf(snapshot.MissingOfCluster+"%s: %s", name, found.Unread[name]))
	}
	merge(&to.Servers, found.Servers)
	merge(&to.Volumes, found.Volumes)
	merge(&to.LoadBalancers, found.LoadBalancers)
	merge(&to.FloatingIPs, found.FloatingIPs)
	merge(&to.Ports, found.Ports)
	return nil
}

// merge adds what is not there, by ID.
func merge(to *[]snapshot.Resource, more []snapshot.Resource) {
	known := map[string]bool{}
	for _, r := range *to {
		known[r.ID] = true
	}
	for _, r := range more {
		if !known[r.ID] {
			known[r.ID] = true
			*to = append(*to, r)
		}
	}
	slices.SortFunc(*to, func(x, y snapshot.Resource) int {
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.ID, y.ID))
	})
}
