package kube

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// lookAgain is how often the events of a waiting Service are read.
const lookAgain = 10 * time.Second

// AwaitBalancer waits until a Service of type LoadBalancer has an address. progress
// receives the events of its controller meanwhile; the error contains the last warning.
func (c *Cluster) AwaitBalancer(ctx context.Context, service types.NamespacedName, progress func(string)) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for {
			select {
			case <-waiting.Done():
				return
			case <-time.After(lookAgain):
			}
			if text := c.lastEvent(waiting, service, ""); text != "" {
				progress(text)
			}
		}
	}()
	err := c.await(ctx, "services", service, &corev1.Service{}, func(o runtime.Object) bool {
		s, ok := o.(*corev1.Service)
		return ok && len(s.Status.LoadBalancer.Ingress) > 0
	})
	if err == nil {
		return nil
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookAgain)
	defer cancel()
	if text := c.lastEvent(asking, service, corev1.EventTypeWarning); text != "" {
		return fmt.Errorf("load balancer of service %s: %w: %s", service, err, text)
	}
	return fmt.Errorf("load balancer of service %s: %w", service, err)
}

// lastEvent is the latest event of a Service, of the given type or of any.
func (c *Cluster) lastEvent(ctx context.Context, service types.NamespacedName, of string) string {
	list, err := c.Typed.CoreV1().Events(service.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.kind": "Service", "involvedObject.name": service.Name}.String()})
	if err != nil {
		return ""
	}
	last := corev1.Event{}
	for _, e := range list.Items {
		if (of == "" || e.Type == of) && !e.LastTimestamp.Before(&last.LastTimestamp) {
			last = e
		}
	}
	if last.Message == "" {
		return ""
	}
	return last.Reason + ": " + last.Message
}
