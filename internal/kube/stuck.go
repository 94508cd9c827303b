package kube

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/vain"
)

// Stuck returns why a Deployment of a namespace cannot become available; nil if all are, or
// may become so, or if nobody can tell now. The error is one that vain.Refused knows.
func (c *Cluster) Stuck(ctx context.Context, namespace string) error {
	deployments, err := c.Typed.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil //nolint:nilerr // who cannot ask does not know
	}
	pods, err := c.Typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil {
			continue
		}
		var own []*corev1.Pod
		for j := range pods.Items {
			if pod := &pods.Items[j]; selector.Matches(labels.Set(pod.Labels)) {
				own = append(own, pod)
			}
		}
		if available(d, own) {
			continue
		}
		if found := causes(d, own, time.Now()); len(found) > 0 && found[0].Hopeless {
			return vain.Final((&waiter{cluster: c}).explain(ctx, types.NamespacedName{Namespace: namespace, Name: d.Name}, found[0]))
		}
	}
	return nil
}

// Attempts judges the errors of one thing that is tried again and again.
type Attempts struct {
	c     *Cluster
	asked time.Time
}

// Attempts returns a judge that has heard nothing yet.
func (c *Cluster) Attempts() *Attempts { return &Attempts{c: c} }

// webhookService is a webhook's service in the error of an API server that cannot call it.
var webhookService = regexp.MustCompile(`https://([a-z0-9-]+)\.([a-z0-9-]+)\.svc`)

// Vain returns why more attempts are in vain: the program behind the webhook that the error
// is about cannot run. Otherwise it returns nil: webhooks of programs that start are not
// there for a while.
func (a *Attempts) Vain(ctx context.Context, err error) error {
	if err == nil || !strings.Contains(err.Error(), "failed calling webhook") || time.Since(a.asked) < reconsider {
		return nil
	}
	a.asked = time.Now()
	at := webhookService.FindStringSubmatch(err.Error())
	if at == nil {
		return nil
	}
	if stuck := a.c.Stuck(ctx, at[2]); stuck != nil {
		return fmt.Errorf("its webhook does not answer: %w", stuck)
	}
	return nil
}
