// Package move moves the objects of a cluster between two clusters on which Cluster API runs, with
// clusterctl's library: from the seed to the management cluster itself, and back.
//
// A record on the seed says at any time where the objects are. Nothing is deleted before everything
// is proved to have arrived. The next run undoes or finishes a run that was killed; the record says
// which of the two.
package move

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Move is a cluster and the two places where its objects can be.
type Move struct {
	// Cluster is the Cluster's name; the Helm release that made it has the same name.
	Cluster types.NamespacedName
	// Seed is where the record is kept, Management the cluster itself.
	Seed, Management Side
	// Kubeconfig is that of the management cluster; the record keeps it.
	Kubeconfig string
	// Progress receives what is being done.
	Progress func(string)

	// patience replaces usualPatience in tests.
	patience time.Duration
}

// Proof is what arrived.
type Proof struct {
	// Objects is the number of objects.
	Objects int
	// Machines are their servers by the names of the Machines.
	Machines map[string]string
}

const (
	// usualPatience is how long writes may fail before the move is given up.
	usualPatience = time.Minute
	// retreatTime is how long it may take to undo what was done so far; after an interruption of
	// the program, the user waits for it.
	retreatTime = 30 * time.Second
	// listed is how many differences are reported.
	listed = 5
)

// Run brings the objects to a place, unless they are there already, and proves it. It first repairs
// what a killed run left.
func (m Move) Run(ctx context.Context, to Place) (Proof, error) {
	at, err := m.mend(ctx)
	if err != nil {
		return Proof{}, err
	}
	if at != to {
		if err := m.move(ctx, to); err != nil {
			return Proof{}, err
		}
	}
	return m.prove(ctx, to)
}

// sides returns where a move comes from and where it goes.
func (m Move) sides(to Place) (from, target Side) {
	if to == Management {
		return m.Seed, m.Management
	}
	return m.Management, m.Seed
}

// mend completes or undoes what a former run began, and returns where the objects are.
func (m Move) mend(ctx context.Context) (Place, error) {
	r, err := Read(ctx, m.Seed.Kube, m.Cluster)
	if err != nil {
		return "", err
	}
	switch {
	case r == nil:
		return m.find(ctx)
	case r.Phase == rested:
		return r.Place(), m.write(ctx, *r) // the kubeconfig may be a newer one
	case r.Phase == deleting:
		// Nothing was deleted where the Cluster is at work: the note that
		// everything arrived was taken back half-way.
		from, _ := m.sides(r.To)
		live, err := from.cluster(ctx, m.Cluster)
		if err != nil {
			return "", err
		}
		if live == nil || paused(live) {
			m.Progress("completing the interrupted pivot")
			return r.To, m.finish(ctx, r.To, r.Objects)
		}
	}
	m.Progress("undoing the interrupted pivot")
	if err := m.undo(ctx, r.To); err != nil {
		return "", err
	}
	return other(r.To), nil
}

func other(p Place) Place {
	if p == Seed {
		return Management
	}
	return Seed
}

// find returns where the objects are when there is no record: on the seed, unless the seed was
// recreated and knows nothing.
func (m Move) find(ctx context.Context) (Place, error) {
	if here, err := m.Seed.cluster(ctx, m.Cluster); err != nil || here != nil {
		return Seed, err
	}
	there, err := m.Management.cluster(ctx, m.Cluster)
	if err != nil || there == nil {
		return Seed, err
	}
	return Management, m.write(ctx, Record{To: Management, Phase: rested})
}

// move moves everything, or if possible nothing.
func (m Move) move(ctx context.Context, to Place) error {
	from, target := m.sides(to)
	if err := m.admit(ctx, from, target); err != nil {
		return err
	}
	for _, side := range []Side{from, target} {
		if err := side.label(ctx); err != nil {
			return err
		}
	}
	if err := from.labelRelease(ctx, m.Cluster); err != nil {
		return err
	}
	if err := m.write(ctx, Record{To: to, Phase: copying}); err != nil {
		return err
	}
	m.Progress("moving the objects to the " + target.Name)
	arrived, err := m.library(ctx, to)
	if err == nil {
		err = m.finish(ctx, to, arrived)
	}
	if err != nil {
		return m.retreat(ctx, to, arrived, err)
	}
	after, err := target.take(ctx, m.Cluster)
	if err != nil {
		return err
	}
	if was, is := arrived.machines(), after.machines(); !maps.Equal(was, is) {
		return fault.New("Cluster "+m.Cluster.Name, fmt.Errorf("its machines changed during the pivot: they were %v and are %v", was, is), "see them with slipway status")
	}
	return nil
}

// admit refuses, before anything is changed, a move that is not possible or that would move more
// than intended.
func (m Move) admit(ctx context.Context, from, target Side) error {
	list, err := from.Kube.Dynamic.Resource(clusterKind()).Namespace(m.Cluster.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing Clusters on the %s: %w", from.Name, err)
	}
	found := false
	for i := range list.Items {
		c := &list.Items[i]
		what := fmt.Sprintf("Cluster %s/%s on the %s", c.GetNamespace(), c.GetName(), from.Name)
		switch {
		case c.GetName() != m.Cluster.Name:
			return fault.New(what, fmt.Errorf("it is in the namespace of %s, and a pivot moves the whole namespace", m.Cluster.Name), "delete it, or create it again in a namespace of its own")
		case c.GetDeletionTimestamp() != nil:
			return fault.New(what, errors.New("it is being deleted"), "wait until it is gone")
		case paused(c):
			return fault.New(what, errors.New("it is paused"), "find out why it is paused, then set spec.paused to false and run the same command again")
		}
		found = true
	}
	if !found {
		return fault.New("Cluster "+m.Cluster.String(), fmt.Errorf("it does not exist on the %s", from.Name), "see the existing clusters with slipway status")
	}
	if there, err := target.cluster(ctx, m.Cluster); err != nil || there != nil {
		if err == nil {
			err = fault.New(fmt.Sprintf("Cluster %s on the %s", m.Cluster, target.Name), fmt.Errorf("it exists here and also on the %s", from.Name),
				"find out which of the two is right; pause the other one, and delete it without its finalizers")
		}
		return err
	}
	return nil
}

// retreat leaves nothing paused when a move failed: before everything had arrived, the move is
// undone; after that, the target resumes.
func (m Move) retreat(ctx context.Context, to Place, arrived inventory, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retreatTime)
	defer cancel()
	from, target := m.sides(to)
	if arrived != nil {
		err := target.resume(ctx, m.Cluster)
		return fault.New("moving "+m.Cluster.Name, errors.Join(failed, err), fmt.Sprintf("everything is on the %s, but something was left on the %s: run the same command again, which removes it", target.Name, from.Name))
	}
	if err := m.undo(ctx, to); err != nil {
		return fault.New("moving "+m.Cluster.Name, fmt.Errorf("%w; undoing it: %w", failed, err), "fix the cause, then run the same command again, which first repairs the state of both clusters")
	}
	remedy := fault.Remedy(failed)
	if remedy == "" {
		remedy = fmt.Sprintf("everything is on the %s as before: fix the cause, then run the same command again", from.Name)
	}
	return fault.New("moving "+m.Cluster.Name, failed, remedy)
}

// undo restores the state before a move from which nothing has been deleted yet.
func (m Move) undo(ctx context.Context, to Place) error {
	from, target := m.sides(to)
	if err := from.resume(ctx, m.Cluster); err != nil {
		return err
	}
	// Copies go only when no record says that they are what counts.
	if err := m.write(ctx, Record{To: to, Phase: copying}); err != nil {
		return err
	}
	originals, err := from.take(ctx, m.Cluster)
	if err != nil {
		return err
	}
	if err := target.drop(ctx, m.Cluster, originals); err != nil {
		return err
	}
	return m.write(ctx, Record{To: other(to), Phase: rested})
}

// finish deletes what is left behind of objects that arrived, moves the rest of the Helm release,
// and resumes the target.
func (m Move) finish(ctx context.Context, to Place, arrived inventory) error {
	from, target := m.sides(to)
	if err := from.drop(ctx, m.Cluster, arrived); err != nil {
		return err
	}
	if err := m.rest(ctx, from, target); err != nil {
		return err
	}
	if err := target.resume(ctx, m.Cluster); err != nil {
		return err
	}
	return m.write(ctx, Record{To: to, Phase: rested})
}

// compare proves that everything that moves with the cluster is on both sides and the same, with
// owners that exist, and returns the inventory.
func (m Move) compare(ctx context.Context, from, target Side) (inventory, error) {
	m.Progress("comparing the objects on the " + target.Name)
	source, err := from.take(ctx, m.Cluster)
	if err != nil {
		return nil, err
	}
	copies, err := target.take(ctx, m.Cluster)
	if err != nil {
		return nil, err
	}
	if wrong := source.differences(copies); len(wrong) > 0 {
		return nil, fmt.Errorf("the objects on the %s differ from those on the %s, so nothing was deleted there: %s", target.Name, from.Name, some(wrong))
	}
	return source, nil
}

func some(list []string) string {
	if len(list) <= listed {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:listed], "; "), len(list)-listed)
}

// prove checks both sides of a completed move.
func (m Move) prove(ctx context.Context, to Place) (Proof, error) {
	from, target := m.sides(to)
	left, err := from.cluster(ctx, m.Cluster)
	if err != nil {
		return Proof{}, err
	}
	if left != nil {
		return Proof{}, fault.New(fmt.Sprintf("Cluster %s on the %s", m.Cluster, from.Name), fmt.Errorf("the right one is on the %s; this one was created later", target.Name),
			"pause it, and delete it without its finalizers: its servers belong to the other one")
	}
	there, err := target.take(ctx, m.Cluster)
	if err != nil {
		return Proof{}, err
	}
	return Proof{Objects: len(there), Machines: there.machines()}, nil
}
