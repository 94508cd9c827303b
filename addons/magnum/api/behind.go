package api

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

const (
	// missRate is how many times a second at most the API server is asked for objects that are not
	// known here, and missBurst how many times at once: beyond that, requests get 404 according to
	// what is known.
	missRate, missBurst = 10, 20
	// missTime bounds such a request.
	missTime = 2 * time.Second
)

// identified is what clients find by uuid or name.
type identified interface {
	client.Object
	UUID() string
	Title() string
}

// foundOrNew returns what look finds, if need be after this replica has caught up.
func foundOrNew[T any](c *call, ident string, list client.ObjectList, look func() []T) ([]T, error) {
	if found := look(); len(found) > 0 {
		return found, nil
	}
	known, err := c.catchUp(v1alpha1.Namespace(c.caller.ProjectID), list, func(o identified) bool { return is(o, ident) })
	if err != nil || !known {
		return nil, err
	}
	return look(), nil
}

// is reports whether a client means o with ident, a uuid or a name.
func is(o identified, ident string) bool {
	id := canonical(ident)
	return id != "" && o.UUID() == id || id == "" && o.Title() == ident
}

// findGroup finds a node group of a cluster by uuid or name, also one that was just created.
func (c *call) findGroup(v *inventory.View, ident string) (*v1alpha1.NodeGroup, error) {
	g, missing := findGroup(v, ident)
	if missing == nil {
		return g, nil
	}
	known, err := c.catchUp(v.Cluster.Namespace, &v1alpha1.NodeGroupList{}, func(o identified) bool {
		g, ok := o.(*v1alpha1.NodeGroup)
		return ok && g.Spec.ClusterName == v.Cluster.Name && is(o, ident)
	})
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, missing
	}
	now, err := c.findCluster(v.Cluster.UUID(), true) // the caller may have v
	if err != nil {
		return nil, err
	}
	return findGroup(now, ident)
}

// catchUp is for objects that this replica does not know: another replica may have created one a
// moment ago, while the watch here is behind, as when control planes are replaced. Replicas wait
// for each other after a write (package peer), but not for one that they do not know yet, or that
// is too slow.
//
// It reads the objects of a project's namespace from the API server into list, and reports whether
// one of them matches and reads have it now.
func (c *call) catchUp(namespace string, list client.ObjectList, match func(identified) bool) (bool, error) {
	if !c.s.misses.TryAccept() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx(), missTime)
	defer cancel()
	if err := c.s.o.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return false, fmt.Errorf("reading %T: %w", list, err)
	}
	known := false
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if o, ok := o.(identified); ok && match(o) {
			known = c.s.o.Inventory.Await(c.ctx(), o, false, seeTime) || known // names can be there twice
		}
		return nil
	})
	return known, err
}
