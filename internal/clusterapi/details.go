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
)

const (
	// eventTime is how long the events may take: what failed is known already.
	eventTime = 5 * time.Second
	// lastEvents are how many are told.
	lastEvents = 5
)

// Details are the conditions of a part of a cluster in a namespace that say
// something, and the last events about it, as lines that begin with a line break;
// empty if there are none or they cannot be read.
func Details(ctx context.Context, client dynamic.Interface, namespace string, p Part) string {
	known := objects{}
	for _, kind := range kindsOf(p.Kind) {
		if object, err := client.Resource(kind).Namespace(namespace).Get(ctx, p.Name, metav1.GetOptions{}); err == nil {
			known[kind] = []*unstructured.Unstructured{object}
		}
	}
	return details(ctx, client, namespace, known, p)
}

// details are the conditions of a part that say something, and the last events
// about it, as lines after its cause.
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

// kindsOf are the objects that a part stands for.
func kindsOf(kind string) []schema.GroupVersionResource {
	return map[string][]schema.GroupVersionResource{
		"Cluster": {clusters}, "OpenStackCluster": {openStackClusters}, "KubeadmControlPlane": {controlPlanes}, "MachineDeployment": {machineDeployments},
		"Machine": {machines, openStackMachines}, "HelmRelease": {helmReleases}, "Manifests": {manifests},
		"ServerGroup": {serverGroups},
	}[kind]
}

// told are the conditions of an object that say something.
func told(object *unstructured.Unstructured) (lines []string) {
	for _, c := range conditions(object) {
		if c.Message != "" {
			lines = append(lines, c.Type+" "+c.Status+": "+cmp.Or(c.Reason, "no reason")+": "+clean(c.Message))
		}
	}
	return lines
}

// events are the last that are about objects of a name; none if they cannot be
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
		lines = append(lines, when(e).UTC().Format("15:04:05 ")+e.InvolvedObject.Kind+" "+e.Reason+": "+clean(e.Message))
	}
	return lines
}
