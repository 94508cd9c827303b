package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// components are the static pods of a control plane besides etcd.
var components = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// guest is what a server would have booted.
type guest struct {
	name, provider, version string
	controls                bool
}

// guestOf is that of a machine whose server is there, or nil.
func guestOf(m *unstructured.Unstructured) *guest {
	provider, _, _ := unstructured.NestedString(m.Object, "spec", "providerID")
	there, _, _ := unstructured.NestedBool(m.Object, "status", "initialization", "infrastructureProvisioned")
	if provider == "" || !there {
		return nil
	}
	g := &guest{provider: provider}
	g.name, _, _ = unstructured.NestedString(m.Object, "spec", "infrastructureRef", "name")
	g.version, _, _ = unstructured.NestedString(m.Object, "spec", "version")
	_, g.controls = m.GetLabels()["cluster.x-k8s.io/control-plane"]
	return g
}

// boot makes what the guest has, unless it has it.
func (c *cluster) boot(ctx context.Context, g *guest) error {
	if c.booted[g.name] {
		return nil
	}
	objects := []client.Object{g.node()}
	if g.controls {
		etcd, err := c.member(ctx, g)
		if err != nil {
			return err
		}
		objects = append(objects, etcd)
		for _, component := range components {
			objects = append(objects, g.pod(component))
		}
		// By this one the control plane's controller knows a cluster that kubeadm has begun.
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"},
			Data: map[string]string{"ClusterConfiguration": ""}})
	}
	for _, o := range objects {
		if err := c.memory.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making %T: %w", o, err)
		}
	}
	c.booted[g.name] = true
	return nil
}

// forget takes away what guests had that are no more.
func (c *cluster) forget(ctx context.Context, kept map[string]bool) error {
	for name := range c.booted {
		if kept[name] {
			continue
		}
		all := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		for _, component := range append([]string{"etcd"}, components...) {
			all = append(all, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: component + "-" + name}})
		}
		for _, o := range all {
			if err := c.memory.Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("forgetting %s: %w", name, err)
			}
		}
		delete(c.booted, name)
	}
	return nil
}

func (g *guest) node() *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: g.name, Labels: map[string]string{}}, Spec: corev1.NodeSpec{ProviderID: g.provider}}
	n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.ContainerRuntimeVersion = g.version, "containerd://2.1.5"
	for kind, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue,
		corev1.NodeMemoryPressure: corev1.ConditionFalse, corev1.NodeDiskPressure: corev1.ConditionFalse, corev1.NodePIDPressure: corev1.ConditionFalse} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now(), Reason: "StandIn"})
	}
	if g.controls {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	return n
}

func (g *guest) pod(component string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: component + "-" + g.name, Labels: map[string]string{"component": component, "tier": "control-plane"}},
		Spec:       corev1.PodSpec{NodeName: g.name},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// member is the guest's etcd, which the API server in memory knows by annotations.
func (c *cluster) member(ctx context.Context, g *guest) (*corev1.Pod, error) {
	others := &corev1.PodList{}
	if err := c.memory.List(ctx, others, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"component": "etcd", "tier": "control-plane"}); err != nil {
		return nil, fmt.Errorf("listing members of etcd: %w", err)
	}
	id := func() string { return strconv.FormatUint(uint64(rand.Uint32N(1<<31-1)+1), 10) }
	pod := g.pod("etcd")
	pod.Annotations = map[string]string{cloudv1.EtcdMemberIDAnnotationName: id()}
	for _, other := range others.Items {
		if _, removed := other.Annotations[cloudv1.EtcdMemberRemoved]; !removed {
			pod.Annotations[cloudv1.EtcdClusterIDAnnotationName] = other.Annotations[cloudv1.EtcdClusterIDAnnotationName]
			return pod, nil
		}
	}
	if len(others.Items) > 0 {
		return nil, errors.New("all members of etcd have been removed")
	}
	pod.Annotations[cloudv1.EtcdClusterIDAnnotationName] = id()
	pod.Annotations[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
	return pod, nil
}
