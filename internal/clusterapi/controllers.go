package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	podKind     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// controllerNamespaces are those of the controllers without which no cluster is created,
// repaired or deleted.
func controllerNamespaces() []string {
	return []string{"capi-system", "capi-kubeadm-bootstrap-system", "capi-kubeadm-control-plane-system", "capo-system", "orc-system", "capi-addon-system", "cert-manager"}
}

// Controllers are the controllers on a cluster that manage others. What cannot be read
// is left out, because causes are found without it too.
func Controllers(ctx context.Context, client dynamic.Interface) []cause.Controller {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	in := controllerNamespaces()
	found := make([][]cause.Controller, len(in))
	var group sync.WaitGroup
	for i, namespace := range in {
		group.Go(func() { found[i] = controllersIn(ctx, client, namespace) })
	}
	group.Wait()
	return slices.Concat(found...)
}

// controllersIn are those in one namespace.
func controllersIn(ctx context.Context, client dynamic.Interface, namespace string) (all []cause.Controller) {
	list, err := client.Resource(deployments).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		d := &list.Items[i]
		one := cause.Controller{Namespace: namespace, Name: d.GetName(), Wanted: 1, Ready: int(number(d, "status", "readyReplicas")), Since: d.GetCreationTimestamp().Time}
		if wanted, set, _ := unstructured.NestedInt64(d.Object, "spec", "replicas"); set {
			one.Wanted = int(wanted)
		}
		if available := find(conditions(d), "Available"); available.Since.After(one.Since) {
			one.Since = available.Since
		}
		progress := find(conditions(d), "Progressing")
		one.Starting = progress.Status == "True" && progress.Reason != "NewReplicaSetAvailable"
		if one.Ready == 0 && one.Wanted > 0 {
			one.Words = podWords(ctx, client, d)
		}
		all = append(all, one)
	}
	return all
}

// overseer reads controllers while a cluster is waited for.
type overseer struct {
	client dynamic.Interface
	at     time.Time
	last   []cause.Controller
}

// read returns those without which the wait is in vain. cert-manager is not among them:
// certificates that are there serve on without it.
func (o *overseer) read(ctx context.Context) []cause.Controller {
	if o.at.IsZero() || time.Since(o.at) >= askEvery {
		o.last = slices.DeleteFunc(Controllers(ctx, o.client), func(c cause.Controller) bool { return c.Namespace == "cert-manager" })
		o.at = time.Now()
	}
	return o.last
}

// podWords is why the first pod of a Deployment that is not ready is not.
func podWords(ctx context.Context, client dynamic.Interface, d *unstructured.Unstructured) string {
	match, _, _ := unstructured.NestedStringMap(d.Object, "spec", "selector", "matchLabels")
	list, err := client.Resource(podKind).Namespace(d.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(match).String()})
	if err != nil {
		return ""
	}
	for i := range list.Items {
		pod := &list.Items[i]
		statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
		for _, s := range statuses {
			status := &unstructured.Unstructured{}
			status.Object, _ = s.(map[string]any)
			if reason := text(status, "state", "waiting", "reason"); reason != "" {
				return strings.TrimSuffix(fmt.Sprintf("%s, ended %d times: %s", reason, number(status, "restartCount"), text(status, "state", "waiting", "message")), ": ")
			}
		}
		for _, c := range conditions(pod) {
			if c.Type == "PodScheduled" && c.Status == "False" {
				return c.Message
			}
		}
	}
	return ""
}
