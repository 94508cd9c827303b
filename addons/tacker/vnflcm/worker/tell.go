package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// attempts is how often a notification is sent to a subscriber who does not take it.
const attempts = 6

// Teller tells subscribers of operations, event after event.
type Teller struct{ O *Options }

// Reconcile sends the first event that is left.
func (t *Teller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	op := &v1alpha1.VNFOperation{}
	if err := t.O.Client.Get(ctx, request.NamespacedName, op); err != nil || len(op.Status.Outbox) == 0 {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	event, instance := op.Status.Outbox[0], &v1alpha1.VNFInstance{}
	err := t.O.Client.Get(ctx, types.NamespacedName{Namespace: op.Namespace, Name: op.Spec.InstanceID}, instance)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading instance: %w", err)
	}
	var told []string
	missed := false
	if err == nil {
		instance.Look()
		about := callback.Event{Type: callback.Occurrence, Instance: instance, Operation: op.Spec.Operation, State: event.State}
		if told, missed, err = t.O.tell(ctx, about, event.Told, func(s *v1alpha1.VNFSubscription) any { return t.O.Links.Occurrence(s, op, event) }); err != nil {
			return reconcile.Result{}, err
		}
	}
	left := 0
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := t.O.Client.Get(ctx, request.NamespacedName, op); err != nil {
			return err
		}
		i := slices.IndexFunc(op.Status.Outbox, func(e v1alpha1.Event) bool { return e.ID == event.ID })
		if i < 0 {
			return nil
		}
		e := &op.Status.Outbox[i]
		if e.Told, e.Attempts = told, e.Attempts+1; !missed || e.Attempts >= attempts {
			op.Status.Outbox = slices.Delete(op.Status.Outbox, i, i+1)
		}
		left = len(op.Status.Outbox)
		return t.O.Client.Status().Update(ctx, op)
	})
	if err != nil || left == 0 {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if missed && event.Attempts+1 < attempts {
		return reconcile.Result{RequeueAfter: t.O.Retry << event.Attempts}, nil
	}
	return reconcile.Result{RequeueAfter: time.Nanosecond}, nil
}

// tell sends a notification to all subscribers who have not got it. It returns who has,
// and whether somebody did not take it.
func (o *Options) tell(ctx context.Context, about callback.Event, told []string, text func(*v1alpha1.VNFSubscription) any) ([]string, bool, error) {
	var all v1alpha1.VNFSubscriptionList
	if err := o.Client.List(ctx, &all, client.InNamespace(about.Instance.Namespace)); err != nil {
		return told, false, fmt.Errorf("listing subscriptions: %w", err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	missed := false
	for n := range all.Items {
		s := &all.Items[n]
		if slices.Contains(told, s.Name) || !callback.Matches(s, about) {
			continue
		}
		wg.Go(func() {
			err := o.send(ctx, s, text(s))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				told = append(told, s.Name)
				return
			}
			missed = true
			o.Log.WarnContext(ctx, "a subscriber does not take a notification", "subscription", s.Name, "error", err.Error())
		})
	}
	wg.Wait()
	return told, missed, nil
}

func (o *Options) send(ctx context.Context, s *v1alpha1.VNFSubscription, notification any) error {
	a, err := Authentication(ctx, o.Client, s)
	if err != nil {
		return err
	}
	return o.Caller.Send(ctx, s.Spec.CallbackURI, a, notification)
}

// AuthenticationKey is the key in a subscription's Secret.
const AuthenticationKey = "authentication"

// Authentication reads what authenticates with a subscription's callback; nil is nothing.
func Authentication(ctx context.Context, c client.Reader, s *v1alpha1.VNFSubscription) (*callback.Authentication, error) {
	if !s.Spec.Authenticated {
		return nil, nil //nolint:nilnil // the callback takes everybody
	}
	var secret corev1.Secret
	err := c.Get(ctx, client.ObjectKeyFromObject(s), &secret)
	if err != nil {
		return nil, fmt.Errorf("reading the secret of subscription %s: %w", s.Name, err)
	}
	a := &callback.Authentication{}
	if err := json.Unmarshal(secret.Data[AuthenticationKey], a); err != nil {
		return nil, fmt.Errorf("the secret of subscription %s is broken", s.Name)
	}
	return a, nil
}

// Herald tells subscribers that instances were created and deleted.
type Herald struct{ O *Options }

// Reconcile announces an instance, or lets it go.
func (h *Herald) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	i := &v1alpha1.VNFInstance{}
	if err := h.O.Client.Get(ctx, request.NamespacedName, i); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	i.Look()
	kind, at := callback.Created, i.CreationTimestamp
	switch {
	case !i.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(i, v1alpha1.Finalizer):
		kind, at = callback.Deleted, *i.DeletionTimestamp
	case !i.DeletionTimestamp.IsZero() || i.Status.Announced:
		return reconcile.Result{}, nil
	}
	if kind == callback.Deleted {
		if untold, err := h.untold(ctx, i); err != nil {
			return reconcile.Result{}, err
		} else if untold {
			return reconcile.Result{RequeueAfter: h.O.Poll}, nil
		}
	}
	if err := h.announce(ctx, i, kind, at); err != nil {
		return reconcile.Result{}, err
	}
	if kind == callback.Deleted {
		controllerutil.RemoveFinalizer(i, v1alpha1.Finalizer)
		return reconcile.Result{}, client.IgnoreNotFound(h.O.Client.Update(ctx, i))
	}
	i.Status.Announced = true
	return reconcile.Result{}, client.IgnoreNotFound(h.O.Client.Status().Update(ctx, i))
}

// untold reports whether subscribers do not know all of an instance's operations yet: of one that
// has gone they are told nothing more.
func (h *Herald) untold(ctx context.Context, i *v1alpha1.VNFInstance) (bool, error) {
	var all v1alpha1.VNFOperationList
	if err := h.O.Client.List(ctx, &all, client.InNamespace(i.Namespace)); err != nil {
		return false, fmt.Errorf("listing operations: %w", err)
	}
	return slices.ContainsFunc(all.Items, func(o v1alpha1.VNFOperation) bool { return o.Spec.InstanceID == i.Name && len(o.Status.Outbox) > 0 }), nil
}

// announce tries a few times; an instance does not stay because a subscriber is away.
func (h *Herald) announce(ctx context.Context, i *v1alpha1.VNFInstance, kind string, at metav1.Time) error {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(i.Name+kind)).String()
	var told []string
	for attempt := range attempts {
		var missed bool
		var err error
		told, missed, err = h.O.tell(ctx, callback.Event{Type: kind, Instance: i}, told, func(s *v1alpha1.VNFSubscription) any {
			return h.O.Links.Identifier(s, kind, id, i.Name, at)
		})
		if err != nil || !missed {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(h.O.Retry << attempt):
		}
	}
	return nil
}
