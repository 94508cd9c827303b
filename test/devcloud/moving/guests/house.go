package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/manager"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// house has the guests of all clusters of a management cluster.
type house struct {
	kube     client.Client
	memory   manager.Manager
	clusters map[client.ObjectKey]*cluster
}

// list are all objects of a kind.
func (h *house) list(ctx context.Context, group, version, kind string) ([]unstructured.Unstructured, error) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	if err := h.kube.List(ctx, all); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind, err)
	}
	return all.Items, nil
}

// look makes what is here as Cluster API has it.
func (h *house) look(ctx context.Context) error {
	clusters, err := h.list(ctx, "cluster.x-k8s.io", "v1beta2", "Cluster")
	if err != nil {
		return err
	}
	machines, err := h.list(ctx, "cluster.x-k8s.io", "v1beta2", "Machine")
	if err != nil {
		return err
	}
	var wrong []error
	present := map[client.ObjectKey]bool{}
	for i := range clusters {
		key := client.ObjectKeyFromObject(&clusters[i])
		present[key] = true
		wrong = append(wrong, h.settle(ctx, &clusters[i], of(machines, key)))
	}
	for key, c := range h.clusters {
		if !present[key] {
			c.close()
			h.memory.DeleteResourceGroup(key.String())
			delete(h.clusters, key)
		}
	}
	return errors.Join(append(wrong, h.addons(ctx))...)
}

// of are the machines of one cluster.
func of(machines []unstructured.Unstructured, cluster client.ObjectKey) (some []*unstructured.Unstructured) {
	for i := range machines {
		m := &machines[i]
		if name, _, _ := unstructured.NestedString(m.Object, "spec", "clusterName"); name == cluster.Name && m.GetNamespace() == cluster.Namespace {
			some = append(some, m)
		}
	}
	return some
}

// settle has the guests of one cluster.
func (h *house) settle(ctx context.Context, o *unstructured.Unstructured, machines []*unstructured.Unstructured) error {
	key := client.ObjectKeyFromObject(o)
	host, _, _ := unstructured.NestedString(o.Object, "spec", "controlPlaneEndpoint", "host")
	port, _, _ := unstructured.NestedInt64(o.Object, "spec", "controlPlaneEndpoint", "port")
	c := h.clusters[key]
	if c == nil {
		if host == "" || port == 0 || len(machines) == 0 {
			return nil
		}
		h.memory.AddResourceGroup(key.String())
		c = newCluster(host, port, h.memory, key.String())
		h.clusters[key] = c
	}
	kept := map[string]bool{}
	for _, m := range machines {
		g := guestOf(m)
		if g == nil {
			continue
		}
		kept[g.name] = true
		if err := c.boot(ctx, g); err != nil {
			return fmt.Errorf("guest %s: %w", g.name, err)
		}
		if g.controls && !c.serving() {
			if err := h.serve(ctx, key, c); err != nil {
				return fmt.Errorf("API server of %s: %w", key, err)
			}
		}
	}
	return c.forget(ctx, kept)
}

// serve starts the API server, with the authorities of the cluster.
func (h *house) serve(ctx context.Context, key client.ObjectKey, c *cluster) error {
	for suffix, to := range map[string]*authority{"ca": &c.api, "etcd": &c.etcd} {
		secret := &corev1.Secret{}
		if err := h.kube.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-" + suffix}, secret); err != nil {
			return err
		}
		if err := to.read(secret.Data["tls.crt"], secret.Data["tls.key"]); err != nil {
			return fmt.Errorf("authority %s: %w", suffix, err)
		}
	}
	// Cluster API drains no node of which a pod's namespace does not exist.
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		err := c.memory.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return c.serve()
}

// addons says of all addons that they are deployed.
func (h *house) addons(ctx context.Context) error {
	var wrong []error
	for _, kind := range []string{"HelmRelease", "Manifests"} {
		all, err := h.list(ctx, "addons.stackhpc.com", "v1alpha1", kind)
		if err != nil {
			return err
		}
		for i := range all {
			o := &all[i]
			if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase == "Deployed" {
				continue
			}
			before := o.DeepCopy()
			if err := unstructured.SetNestedField(o.Object, "Deployed", "status", "phase"); err != nil {
				return err
			}
			wrong = append(wrong, client.IgnoreNotFound(h.kube.Status().Patch(ctx, o, client.MergeFrom(before))))
		}
	}
	return errors.Join(wrong...)
}
