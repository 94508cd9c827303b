package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/retry"
)

const (
	// seeTime is how long an answer to a write waits until reads have it.
	seeTime = 5 * time.Second
	// maxConflicts is how often a change is made again on a newer object.
	maxConflicts = 8
	// storeTime is how long a creation is repeated, storePause how long between: etcd elects a
	// leader within a second or two. A client must have its answer before it gives up, and an
	// API server that is cut off takes seconds for each refusal.
	storeTime  = 4 * time.Second
	storePause = 500 * time.Millisecond
)

// create writes a new object and waits until reads have it. The project's
// namespace is made when it is missing.
func (c *call) create(o client.Object, project string) error {
	o.SetAnnotations(map[string]string{v1alpha1.AnnotationCreatedAt: c.s.o.Now().UTC().Format(time.RFC3339Nano)})
	err := c.store(o)
	if apierrors.IsNotFound(err) {
		if err := c.makeNamespace(project); err != nil {
			return err
		}
		err = c.store(o)
	}
	if err != nil {
		return fmt.Errorf("creating %T: %w", o, err)
	}
	c.s.see(c.ctx(), o, false)
	return nil
}

// store creates an object. While control planes are replaced, etcd changes its leader, and the
// API server fails what it may have stored: a client that asked again would have it twice. So
// the creation is repeated here, and an object that is there by then is ours if it was made
// at the same nanosecond.
func (c *call) store(o client.Object) error {
	begun := time.Now()
	for try := 1; ; try++ {
		err := c.s.o.Client.Create(c.ctx(), o)
		if try > 1 && apierrors.IsAlreadyExists(err) {
			there := o.DeepCopyObject().(client.Object)
			if c.s.o.Client.Get(c.ctx(), client.ObjectKeyFromObject(o), there) == nil &&
				there.GetAnnotations()[v1alpha1.AnnotationCreatedAt] == o.GetAnnotations()[v1alpha1.AnnotationCreatedAt] {
				o.SetUID(there.GetUID())
				o.SetResourceVersion(there.GetResourceVersion())
				o.SetGeneration(there.GetGeneration())
				o.SetCreationTimestamp(there.GetCreationTimestamp())
				return nil
			}
		}
		if err == nil || !retry.Helps(err) || time.Since(begun) > storeTime {
			return err
		}
		select {
		case <-c.ctx().Done():
			return err
		case <-time.After(storePause):
		}
	}
}

// withoutClient does what must not end half-way because the client goes. The time of the
// request still holds.
func (c *call) withoutClient(do func() error) error {
	r, ctx, cancel := c.r, context.WithoutCancel(c.ctx()), context.CancelFunc(func() {})
	if end, ok := r.Context().Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, end)
	}
	defer func() {
		cancel()
		c.r = r
	}()
	c.r = r.WithContext(ctx)
	return do()
}

// stands reads an object whose writing seemed to fail: the answer may have been lost, and the
// client or the request's time may be gone. An error says that nobody knows.
func (c *call) stands(o client.Object) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), undoTime)
	defer cancel()
	err := c.s.o.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		c.s.o.Log.WarnContext(ctx, "an application credential may be left over", "request_id", c.requestID, "object", client.ObjectKeyFromObject(o).String(), "error", err.Error())
		return false, err
	}
	return err == nil, nil
}

func (c *call) makeNamespace(project string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace(project),
		Labels: map[string]string{v1alpha1.LabelProject: v1alpha1.LabelValue(project)}}}
	if err := c.s.o.Client.Create(c.ctx(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the project's namespace: %w", err)
	}
	return nil
}

// see waits until reads have an object as written, here and on the other
// replicas.
func (s *Server) see(ctx context.Context, o client.Object, deleted bool) {
	var others sync.WaitGroup
	if s.o.Peers != nil {
		others.Go(func() { s.o.Peers.Await(ctx, o, deleted) })
	}
	if !s.o.Inventory.Await(ctx, o, deleted, seeTime) {
		s.o.Log.WarnContext(ctx, "a write is slow to be seen", "object", client.ObjectKeyFromObject(o).String())
	}
	others.Wait()
}

// update changes an object that was read from the inventory. A conflict with
// another writer makes the change again on the newest object, so change must
// check everything that it depends on. Without a difference nothing is
// written. The result is the object as it is now.
func update[T client.Object](c *call, from T, change func(T) error) (T, error) {
	return write(c, from, change, func(o T) error {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.AnnotationUpdatedAt] = timeText(c.s.o.Now())
		o.SetAnnotations(annotations)
		return c.s.o.Client.Update(c.ctx(), o)
	})
}

// updateStatus is update for the status.
func updateStatus[T client.Object](c *call, from T, change func(T) error) (T, error) {
	return write(c, from, change, func(o T) error { return c.s.o.Client.Status().Update(c.ctx(), o) })
}

func write[T client.Object](c *call, from T, change, store func(T) error) (T, error) {
	o := from.DeepCopyObject().(T)
	for try := 0; ; try++ {
		before := o.DeepCopyObject()
		if err := change(o); err != nil {
			return o, err
		}
		if equality.Semantic.DeepEqual(before, client.Object(o)) {
			return o, nil
		}
		err := store(o)
		if err == nil {
			c.s.see(c.ctx(), o, false)
			return o, nil
		}
		if !apierrors.IsConflict(err) || try == maxConflicts {
			return o, meanwhile(fmt.Errorf("writing %T: %w", o, err))
		}
		if err := c.s.o.Client.Get(c.ctx(), client.ObjectKeyFromObject(o), o); err != nil {
			return o, meanwhile(fmt.Errorf("reading %T: %w", o, err))
		}
	}
}

// meanwhile is the answer where what was found is gone when it is written.
func meanwhile(err error) error {
	if apierrors.IsNotFound(err) {
		return &httpError{status: http.StatusNotFound, detail: "It was deleted at the same time.", cause: err}
	}
	return err
}

// remove deletes the very object that was read; one that is gone is no error.
func (c *call) remove(o client.Object) error {
	uid := o.GetUID()
	err := c.s.o.Client.Delete(c.ctx(), o.DeepCopyObject().(client.Object), client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %T: %w", o, err)
	}
	c.s.see(c.ctx(), o, true)
	return nil
}

// timeText is how times are written: with offset, without fraction.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05-07:00") }

// created is created_at of an object.
func created(o metav1.Object) any { return timeText(v1alpha1.Created(o).Time) }

// updated is updated_at: the later of the endpoint's and the controllers'
// last change, null before the first.
func updated(o metav1.Object, status *metav1.Time) any {
	at, err := time.Parse(time.RFC3339, o.GetAnnotations()[v1alpha1.AnnotationUpdatedAt])
	if status != nil && (err != nil || status.After(at)) {
		at, err = status.Time, nil
	}
	if err != nil {
		return nil
	}
	return timeText(at)
}
