package controller

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// requestPriority is the priority of what tenants ask for. Events of Cluster API and of
// addons have 0 and come first: those take milliseconds, where a new cluster takes seconds
// of Helm. Without it nobody sees a machine fail while a hundred clusters are created.
const requestPriority = -1

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// asRequests adds what a handler adds with requestPriority.
func asRequests(h handler.EventHandler) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { h.Create(ctx, e, ofRequests(q)) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { h.Update(ctx, e, ofRequests(q)) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { h.Delete(ctx, e, ofRequests(q)) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) {
			h.Generic(ctx, e, ofRequests(q))
		},
	}
}

// requestQueue is a queue with requestPriority where nothing else is asked for.
type requestQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

// ofRequests returns q itself if it has no priorities.
func ofRequests(q queue) queue {
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		return requestQueue{p}
	}
	return q
}

// Add adds with requestPriority.
func (q requestQueue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddWithOpts adds with requestPriority, unless the handler has a priority of its own: what
// is known since the start has a lower one.
func (q requestQueue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	if o.Priority == nil {
		o.Priority = ptr.To(requestPriority)
	}
	q.PriorityQueue.AddWithOpts(o, items...)
}
