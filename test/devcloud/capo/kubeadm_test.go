package capo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// kubeadm stands in for what needs machines that boot: Cluster API's two kubeadm providers,
// and the kubelets. The API server of all workload clusters is one of its own, on which
// each machine has a node once its server exists.
type kubeadm struct {
	management *management
	workload   *kubetest.Server
	dynamic    dynamic.Interface
	nodes      kubernetes.Interface
}

func resource(group, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group + "cluster.x-k8s.io", Version: "v1beta2", Resource: name}
}

// newKubeadm defines the kinds of the kubeadm providers and of addons, and starts.
func newKubeadm(m *management) *kubeadm {
	m.Helper()
	var definitions []*unstructured.Unstructured
	for _, file := range []string{"providers/bootstrap-kubeadm/*/bootstrap-components.yaml", "providers/control-plane-kubeadm/*/control-plane-components.yaml"} {
		definitions = append(definitions, read(m.T, file)...)
	}
	definitions = slices.DeleteFunc(definitions, func(o *unstructured.Unstructured) bool { return o.GetKind() != "CustomResourceDefinition" })
	for _, o := range definitions {
		unstructured.RemoveNestedField(o.Object, "spec", "conversion")
	}
	m.apply(definitions, nil)
	for _, text := range addons.Definitions() {
		if err := m.kube.Apply(m.Context(), text); err != nil {
			m.Fatal(err)
		}
	}
	k := &kubeadm{management: m, workload: kubetest.Start(m.T)}
	config := rest.CopyConfig(m.server.Config)
	config.QPS = -1
	k.dynamic, k.nodes = dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(k.workload.Config)
	ctx, stop := context.WithCancel(context.WithoutCancel(m.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); k.run(ctx) }()
	m.Cleanup(func() { stop(); <-ended })
	return k
}

// run looks at everything again and again: what fails is tried the next time.
func (k *kubeadm) run(ctx context.Context) {
	for ctx.Err() == nil {
		k.each(ctx, resource("bootstrap.", "kubeadmconfigs"), k.bootstrap)
		k.each(ctx, resource("controlplane.", "kubeadmcontrolplanes"), k.plane)
		k.each(ctx, resource("", "machines"), k.node)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (k *kubeadm) each(ctx context.Context, kind schema.GroupVersionResource, do func(context.Context, *unstructured.Unstructured)) {
	list, err := k.dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
	for i := 0; err == nil && i < len(list.Items); i++ {
		if list.Items[i].GetDeletionTimestamp() == nil {
			do(ctx, &list.Items[i])
		}
	}
}

func (k *kubeadm) status(ctx context.Context, kind schema.GroupVersionResource, o *unstructured.Unstructured, status map[string]any) {
	text, err := json.Marshal(map[string]any{"status": status})
	if err == nil {
		_, _ = k.dynamic.Resource(kind).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, text, metav1.PatchOptions{}, "status")
	}
}

func isTrue(kind string) map[string]any {
	return map[string]any{"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339)}
}

func clusterOf(o *unstructured.Unstructured) string {
	return o.GetLabels()["cluster.x-k8s.io/cluster-name"]
}

// secret is one of Cluster API's.
func (k *kubeadm) secret(ctx context.Context, o *unstructured.Unstructured, name, value string) error {
	return k.management.kube.Apply(ctx, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
"metadata": {"name": %q, "namespace": %q, "labels": {"cluster.x-k8s.io/cluster-name": %q}}, "stringData": {"format": "cloud-config", "value": %q}}`,
		name, o.GetNamespace(), clusterOf(o), value))
}

// bootstrap gives a machine what it would boot with.
func (k *kubeadm) bootstrap(ctx context.Context, o *unstructured.Unstructured) {
	if made, _, _ := unstructured.NestedString(o.Object, "status", "dataSecretName"); made != "" || k.secret(ctx, o, o.GetName(), "#cloud-config\n") != nil {
		return
	}
	k.status(ctx, resource("bootstrap.", "kubeadmconfigs"), o, map[string]any{"dataSecretName": o.GetName(), "initialization": map[string]any{"dataSecretCreated": true}, "conditions": []any{isTrue("Ready")}})
}

// plane makes the machine of a control plane of one, and says how it is.
func (k *kubeadm) plane(ctx context.Context, o *unstructured.Unstructured) {
	kind, name := resource("controlplane.", "kubeadmcontrolplanes"), o.GetName()+"-0"
	if k.secret(ctx, o, clusterOf(o)+"-kubeconfig", string(k.workload.Kubeconfig)) != nil || k.secret(ctx, o, name, "#cloud-config\n") != nil {
		return
	}
	machine, err := k.dynamic.Resource(resource("", "machines")).Namespace(o.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	if kube.Absent(err) {
		_ = k.machine(ctx, o, name)
	}
	if err != nil {
		return
	}
	status := map[string]any{"observedGeneration": o.GetGeneration(), "replicas": 1, "readyReplicas": 0, "upToDateReplicas": 1, "availableReplicas": 0}
	if id, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID"); id != "" {
		status["initialization"] = map[string]any{"controlPlaneInitialized": true}
	}
	status["version"], _, _ = unstructured.NestedString(o.Object, "spec", "version")
	if node, _, _ := unstructured.NestedString(machine.Object, "status", "nodeRef", "name"); node != "" {
		status["readyReplicas"], status["availableReplicas"], status["conditions"] = 1, 1, []any{isTrue("Available")}
	}
	k.status(ctx, kind, o, status)
}

// machine makes the control plane's machine of the template, as the provider does.
func (k *kubeadm) machine(ctx context.Context, o *unstructured.Unstructured, name string) error {
	templates := schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackmachinetemplates"}
	from, _, _ := unstructured.NestedString(o.Object, "spec", "machineTemplate", "spec", "infrastructureRef", "name")
	template, err := k.dynamic.Resource(templates).Namespace(o.GetNamespace()).Get(ctx, from, metav1.GetOptions{})
	if err != nil {
		return err
	}
	spec, _, _ := unstructured.NestedMap(template.Object, "spec", "template", "spec")
	version, _, _ := unstructured.NestedString(o.Object, "spec", "version")
	meta := func() map[string]any {
		return map[string]any{"name": name, "namespace": o.GetNamespace(), "labels": map[string]any{"cluster.x-k8s.io/cluster-name": clusterOf(o), "cluster.x-k8s.io/control-plane": ""},
			"ownerReferences": []any{map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()), "controller": true}}}
	}
	below := meta()
	delete(below, "ownerReferences")
	objects := []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": infrastructureAPI, "kind": "OpenStackMachine", "metadata": below, "spec": spec}},
		{Object: map[string]any{"apiVersion": coreAPI, "kind": "Machine", "metadata": meta(), "spec": map[string]any{"clusterName": clusterOf(o), "version": version,
			"bootstrap":         map[string]any{"dataSecretName": name},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": name}}}},
	}
	return k.management.kube.ApplyObjects(ctx, objects)
}

// node is what the kubelet of a machine reports, if it has a server.
func (k *kubeadm) node(ctx context.Context, o *unstructured.Unstructured) {
	id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
	if id == "" {
		return
	}
	now := metav1.Now()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: o.GetName()}, Spec: corev1.NodeSpec{ProviderID: id}}
	_, _ = k.nodes.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	var conditions []corev1.NodeCondition
	for kind, is := range map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue, corev1.NodeMemoryPressure: corev1.ConditionFalse,
		corev1.NodeDiskPressure: corev1.ConditionFalse, corev1.NodePIDPressure: corev1.ConditionFalse} {
		conditions = append(conditions, corev1.NodeCondition{Type: kind, Status: is, Reason: "Kubelet", LastHeartbeatTime: now, LastTransitionTime: now})
	}
	text, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err == nil {
		_, _ = k.nodes.CoreV1().Nodes().Patch(ctx, o.GetName(), types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	}
}
