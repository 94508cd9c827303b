package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const capi = "cluster.x-k8s.io"

var (
	clusters    = schema.GroupVersionResource{Group: capi, Version: "v1beta2", Resource: "clusters"}
	machines    = schema.GroupVersionResource{Group: capi, Version: "v1beta2", Resource: "machines"}
	deployments = schema.GroupVersionResource{Group: capi, Version: "v1beta2", Resource: "machinedeployments"}
	planes      = schema.GroupVersionResource{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"}
)

// control stands in for the controllers of Cluster API: machines come and go at once.
func (w *world) control(ctx context.Context) {
	for ctx.Err() == nil {
		for _, kind := range []schema.GroupVersionResource{planes, deployments} {
			w.each(ctx, kind, func(o *unstructured.Unstructured) { w.owner(ctx, kind, o) })
		}
		w.each(ctx, clusters, func(o *unstructured.Unstructured) { w.cluster(ctx, o) })
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (w *world) each(ctx context.Context, kind schema.GroupVersionResource, do func(*unstructured.Unstructured)) {
	list, err := w.kube.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
	for i := 0; err == nil && i < len(list.Items); i++ {
		do(&list.Items[i])
	}
}

func (w *world) patch(ctx context.Context, kind schema.GroupVersionResource, o *unstructured.Unstructured, body map[string]any, sub ...string) {
	if text, err := json.Marshal(body); err == nil {
		_, _ = w.kube.Dynamic.Resource(kind).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, text, metav1.PatchOptions{}, sub...)
	}
}

// owner makes the machines of a control plane or node group as many as they should be.
func (w *world) owner(ctx context.Context, kind schema.GroupVersionResource, o *unstructured.Unstructured) {
	if w.is(w.held, o.GetNamespace()) || o.GetDeletionTimestamp() != nil {
		return
	}
	cluster, label := o.GetLabels()[capi+"/cluster-name"], capi+"/deployment-name"
	if cluster == "" {
		cluster, _, _ = unstructured.NestedString(o.Object, "spec", "clusterName")
	}
	if kind == planes {
		label = capi + "/control-plane-name"
		if cluster == "" {
			cluster = o.GetName()[:len(o.GetName())-len("-control-plane")]
		}
	}
	if c, err := w.kube.Dynamic.Resource(clusters).Namespace(o.GetNamespace()).Get(ctx, cluster, metav1.GetOptions{}); err != nil || c.GetDeletionTimestamp() != nil {
		return
	}
	want, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	resource := w.kube.Dynamic.Resource(machines).Namespace(o.GetNamespace())
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + o.GetName()})
	if err != nil {
		return
	}
	for n := int64(len(list.Items)); n > want; n-- {
		_ = resource.Delete(ctx, list.Items[n-1].GetName(), metav1.DeleteOptions{})
	}
	for n := int64(len(list.Items)); n < want; n++ {
		labels := map[string]any{label: o.GetName(), capi + "/cluster-name": cluster}
		if kind == planes {
			labels[capi+"/control-plane"] = ""
		}
		_, err := resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": capi + "/v1beta2", "kind": "Machine",
			"metadata": map[string]any{"name": fmt.Sprintf("%s-%s", o.GetName(), uuid.NewString()[:5]), "labels": labels},
			"spec": map[string]any{"clusterName": cluster, "providerID": "openstack:///" + uuid.NewString(), "bootstrap": map[string]any{"dataSecretName": "x"},
				"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": "x"}}}}, metav1.CreateOptions{})
		if err != nil {
			fmt.Println("stand-in:", err)
		}
	}
	have, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
	if seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); seen != o.GetGeneration() || have != int64(len(list.Items)) {
		n := int64(len(list.Items))
		w.patch(ctx, kind, o, map[string]any{"status": map[string]any{"observedGeneration": o.GetGeneration(), "replicas": n, "readyReplicas": n, "upToDateReplicas": n}}, "status")
	}
}

// cluster makes a cluster available, and deletes it with its machines after a while.
func (w *world) cluster(ctx context.Context, o *unstructured.Unstructured) {
	switch {
	case o.GetDeletionTimestamp() != nil:
		if w.is(w.kept, o.GetNamespace()) {
			return
		}
		_ = w.kube.Dynamic.Resource(machines).Namespace(o.GetNamespace()).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: capi + "/cluster-name=" + o.GetName()})
		w.patch(ctx, clusters, o, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	case len(o.GetFinalizers()) == 0:
		w.patch(ctx, clusters, o, map[string]any{"metadata": map[string]any{"finalizers": []string{"cluster." + capi}}})
	case !w.is(w.held, o.GetNamespace()):
		if conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); len(conditions) == 0 {
			w.patch(ctx, clusters, o, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "Available",
				"message": "", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339)}}}}, "status")
		}
	}
}
