package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/vain"
)

// lookAgain is how often the events of a waiting Service are read.
const lookAgain = 10 * time.Second

// AwaitBalancer waits until a Service of type LoadBalancer has an address. progress
// receives the events of its controller meanwhile; the error contains the last warning. It
// ends early if that does not pass, such as a quota.
func (c *Cluster) AwaitBalancer(ctx context.Context, service types.NamespacedName, progress func(string)) error {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		var hopeless vain.Watch
		began := time.Now().Truncate(time.Second) // as precise as events
		for {
			select {
			case <-waiting.Done():
				return
			case <-time.After(lookAgain):
			}
			last := c.lastEvent(waiting, service, "")
			if text := said(last); text != "" {
				progress(text)
			}
			if hopeless.Over(refuses(last, began)) {
				stop(errRefused)
			}
		}
	}()
	err := c.await(waiting, "services", service, &corev1.Service{}, func(o runtime.Object) bool {
		s, ok := o.(*corev1.Service)
		return ok && len(s.Status.LoadBalancer.Ingress) > 0
	})
	if err == nil {
		return nil
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookAgain)
	defer cancel()
	if text := said(c.lastEvent(asking, service, corev1.EventTypeWarning)); text != "" {
		return fmt.Errorf("load balancer of service %s: %w: %s", service, err, text)
	}
	return fmt.Errorf("load balancer of service %s: %w", service, err)
}

// refuses reports whether the last event of a Service that is waited for since a time is a
// refusal that does not pass. Its controller tells EnsuringLoadBalancer at the beginning of
// each attempt, and a warning at its end.
func refuses(last corev1.Event, since time.Time) bool {
	return last.Type == corev1.EventTypeWarning && !last.LastTimestamp.Time.Before(since) && cause.Lasting(last.Message)
}

// errRefused is that the controller's last words do not pass.
var errRefused = errors.New("the cloud refuses it")

// lastEvent is the latest event of a Service, of the given type or of any; of two in the
// same second, the warning.
func (c *Cluster) lastEvent(ctx context.Context, service types.NamespacedName, of string) corev1.Event {
	list, err := c.Typed.CoreV1().Events(service.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.kind": "Service", "involvedObject.name": service.Name}.String()})
	last := corev1.Event{}
	if err != nil {
		return last
	}
	for _, e := range list.Items {
		later := last.LastTimestamp.Before(&e.LastTimestamp) || last.LastTimestamp.Equal(&e.LastTimestamp) && last.Type != corev1.EventTypeWarning
		if (of == "" || e.Type == of) && later {
			last = e
		}
	}
	return last
}

// said are the words of an event; "" if there is none.
func said(e corev1.Event) string {
	if e.Message == "" {
		return ""
	}
	return e.Reason + ": " + e.Message
}
