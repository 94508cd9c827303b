package api

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

const (
	// missRate is how many times a second the API server is asked at most for what is not known
	// here, and missBurst how many times at once: other requests get 404 from what is known.
	missRate, missBurst = 10, 20
	// missTime bounds such a question.
	missTime = 2 * time.Second
)

// identified is what clients find by uuid or name.
type identified interface {
	client.Object
	UUID() string
	Title() string
}

// foundOrNew is what look finds, or finds after this replica has caught up.
func foundOrNew[T any](c *call, ident string, list client.ObjectList, look func() []T) ([]T, error) {
	if found := look(); len(found) > 0 {
		return found, nil
	}
	known, err := c.catchUp(ident, list)
	if err != nil || !known {
		return nil, err
	}
	return look(), nil
}

// catchUp is for what this replica does not know: another may have made it a moment ago, while
// the watch here is behind, as when control planes are replaced. Replicas wait for each other
// after a write (package peer), but not for one that they do not know yet, or that is too slow.
//
// It reads what the caller's project has from the API server, into list, and tells whether the
// object is there and reads have it now.
func (c *call) catchUp(ident string, list client.ObjectList) (bool, error) {
	if !c.s.misses.TryAccept() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx(), missTime)
	defer cancel()
	if err := c.s.o.Client.List(ctx, list, client.InNamespace(v1alpha1.Namespace(c.caller.ProjectID))); err != nil {
		return false, fmt.Errorf("reading %T: %w", list, err)
	}
	id, known := canonical(ident), false
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if o, ok := o.(identified); ok && (id != "" && o.UUID() == id || id == "" && o.Title() == ident) {
			known = c.s.o.Inventory.Await(c.ctx(), o, false, seeTime) || known // names can be there twice
		}
		return nil
	})
	return known, err
}
