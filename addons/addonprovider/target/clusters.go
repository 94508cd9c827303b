package target

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Clusters are the connected target clusters, and the places for work on them: a limited number for
// each cluster, and in total.
type Clusters struct {
	timeout    time.Duration
	perCluster int
	places     *gate
	wrap       func(http.RoundTripper) http.RoundTripper

	mu      sync.Mutex
	entries map[types.NamespacedName]*entry
}

type entry struct {
	places  *gate
	sum     [sha256.Size]byte
	cluster *Cluster
	reach   *reach
}

// NewClusters returns an empty set of clusters. timeout bounds a single request; perCluster and all
// bound how much is worked on at a time.
func NewClusters(timeout time.Duration, perCluster, all int) *Clusters {
	return &Clusters{timeout: timeout, perCluster: perCluster, places: newGate(all),
		entries: map[types.NamespacedName]*entry{}}
}

// Wrapped puts a transport around those of the clusters that are connected from now on; nil puts
// none.
func (c *Clusters) Wrapped(wrap func(http.RoundTripper) http.RoundTripper) *Clusters {
	c.wrap = wrap
	return c
}

// Kubeconfig reads the kubeconfig that Cluster API made for a Cluster; nil if there is none. It is
// read each time and not cached: it is seldom needed, and 200 of them are large.
func Kubeconfig(ctx context.Context, live client.Reader, cluster types.NamespacedName) ([]byte, error) {
	secret := &corev1.Secret{}
	err := live.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + "-kubeconfig"}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading kubeconfig of Cluster %s: %w", cluster, err)
	}
	if err != nil {
		return nil, nil
	}
	return secret.Data["value"], nil
}

func (c *Clusters) entry(key types.NamespacedName) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		e = &entry{places: newGate(c.perCluster), reach: newReach()}
		c.entries[key] = e
	}
	return e
}

// Connect returns the clients of a cluster: the existing ones, unless the kubeconfig has changed.
func (c *Clusters) Connect(key types.NamespacedName, kubeconfig []byte) (*Cluster, error) {
	e, sum := c.entry(key), sha256.Sum256(kubeconfig)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.cluster != nil && e.sum == sum {
		return e.cluster, nil
	}
	cluster, err := connect(kubeconfig, c.timeout, c.wrap)
	if err != nil {
		return nil, err
	}
	if e.cluster != nil {
		e.cluster.Close()
	}
	e.cluster, e.sum = cluster, sum
	e.reach = newReach()
	return cluster, nil
}

// reachOf is what is known about whether a cluster answers with its present kubeconfig.
func (c *Clusters) reachOf(key types.NamespacedName) *reach {
	e := c.entry(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.reach
}

// Drop forgets a cluster.
func (c *Clusters) Drop(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok && e.cluster != nil {
		e.cluster.Close()
	}
	delete(c.entries, key)
}

// Len is how many clusters are known.
func (c *Clusters) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Place is one of the places for work on a cluster. Only one goroutine may use it.
type Place struct {
	own, all *gate
	held     bool
	// before is whether the place was held before.
	before bool
}

// Place returns a place on a cluster; the place is not taken yet.
func (c *Clusters) Place(key types.NamespacedName) *Place {
	return &Place{own: c.entry(key).places, all: c.places}
}

// Take waits for the place. The cluster's own comes first, so that a slow
// cluster takes none from others while it waits.
func (p *Place) Take(ctx context.Context) error {
	if p.held {
		return nil
	}
	if err := p.own.take(ctx, p.before); err != nil {
		return err
	}
	if err := p.all.take(ctx, p.before); err != nil {
		p.own.leave()
		return err
	}
	p.held, p.before = true, true
	return nil
}

// Leave gives up the place, if it is held.
func (p *Place) Leave() {
	if p.held {
		p.held = false
		p.all.leave()
		p.own.leave()
	}
}
