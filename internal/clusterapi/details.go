package clusterapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
)

const (
	// eventTime bounds reading the events: the failure itself is known already.
	eventTime = 5 * time.Second
	// lastEvents is how many events are shown.
	lastEvents = 5
)

// Details returns the telling conditions of a part of a cluster, and the last events
// about it, as lines that begin with a line break; empty if there are none or they
// cannot be read.
func Details(ctx context.Context, client dynamic.Interface, namespace string, p Part) string {
	known := objects{}
	for _, kind := range kindsOf(p.Kind) {
		if object, err := client.Resource(kind).Namespace(namespace).Get(ctx, p.Name, metav1.GetOptions{}); err == nil {
			known[kind] = []*unstructured.Unstructured{object}
		}
	}
	return details(ctx, client, namespace, known, p)
}

// details returns the telling conditions of a part and the last events about it, as
// lines after its cause.
func details(ctx context.Context, client dynamic.Interface, namespace string, known objects, p Part) string {
	var b strings.Builder
	add := func(heading string, lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n" + heading + ":\n  " + strings.Join(lines, "\n  "))
		}
	}
	for _, kind := range kindsOf(p.Kind) {
		if object := known.named(kind, p.Name); object != nil {
			add("conditions of "+object.GetKind()+" "+p.Name, told(object))
		}
	}
	add("last events", events(ctx, client, namespace, p.Name))
	return b.String()
}

// kindsOf returns the kinds of the objects that a part stands for.
func kindsOf(kind string) []schema.GroupVersionResource {
	return map[string][]schema.GroupVersionResource{
		"Cluster": {clusters}, "OpenStackCluster": {openStackClusters}, "KubeadmControlPlane": {controlPlanes}, "MachineDeployment": {machineDeployments},
		"Machine": {machines, openStackMachines, openStackServers}, "HelmRelease": {helmReleases}, "Manifests": {manifests},
		"ServerGroup": {serverGroups},
	}[kind]
}

// told returns the conditions of an object that explain its state.
func told(object *unstructured.Unstructured) (lines []string) {
	for _, c := range conditions(object) {
		if c.Message != "" {
			lines = append(lines, c.Type+" "+c.Status+": "+cmp.Or(c.Reason, "no reason")+": "+cause.Text(c.Message))
		}
	}
	return lines
}

// events returns the last events about objects with a name; none if they cannot be
// read.
func events(ctx context.Context, client dynamic.Interface, namespace, name string) (lines []string) {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("events")).Namespace(namespace).List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	if err != nil {
		return nil
	}
	var about []corev1.Event
	for _, item := range list.Items {
		var e corev1.Event
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &e) == nil && e.InvolvedObject.Name == name {
			about = append(about, e)
		}
	}
	when := func(e corev1.Event) time.Time {
		return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
	}
	slices.SortStableFunc(about, func(a, b corev1.Event) int { return when(a).Compare(when(b)) })
	for _, e := range about[max(0, len(about)-lastEvents):] {
		lines = append(lines, when(e).UTC().Format("15:04:05 ")+e.InvolvedObject.Kind+" "+e.Reason+": "+cause.Text(e.Message))
	}
	return lines
}
