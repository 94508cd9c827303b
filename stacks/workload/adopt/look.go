package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/stacks/workload"
)

// The versions in which Cluster API 1.11 and later stores its objects, and CAPO 0.11 and
// later.
var (
	clusterKind   = schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
	planeKind     = schema.GroupVersion{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2"}
	bootstrapKind = schema.GroupVersion{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2"}
	cloudKind     = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}
)

// labelName is Cluster API's label with the cluster's name.
const labelName = "cluster.x-k8s.io/cluster-name"

// seen is what the management cluster has of a cluster; nil is not there.
type seen struct {
	cluster, plane *unstructured.Unstructured
	// deployments by their names.
	deployments map[string]*unstructured.Unstructured
	machines    []unstructured.Unstructured
	secrets     map[string]bool
}

// see reads what there is of a cluster.
func (s Site) see(ctx context.Context, key workload.Key, cluster *unstructured.Unstructured) (*seen, error) {
	l := &seen{cluster: cluster, deployments: map[string]*unstructured.Unstructured{}, secrets: map[string]bool{}}
	if name := text(cluster, "spec", "controlPlaneRef", "name"); text(cluster, "spec", "controlPlaneRef", "kind") == "KubeadmControlPlane" {
		var err error
		if l.plane, err = s.get(ctx, planeKind.WithKind("KubeadmControlPlane"), key.Namespace, name); err != nil {
			return nil, err
		}
	}
	deployments, err := s.ofCluster(ctx, "MachineDeployment", key)
	if err != nil {
		return nil, err
	}
	for i := range deployments {
		l.deployments[deployments[i].GetName()] = &deployments[i]
	}
	if l.machines, err = s.ofCluster(ctx, "Machine", key); err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.Client.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	for _, secret := range list.Items {
		l.secrets[secret.Name] = true
	}
	return l, nil
}

// ofCluster lists the objects of cluster.x-k8s.io that name a cluster.
func (s Site) ofCluster(ctx context.Context, kind string, key workload.Key) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(clusterKind.WithKind(kind + "List"))
	if err := s.Client.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", kind, err)
	}
	return slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return text(&o, "spec", "clusterName") != key.Name }), nil
}

// get returns an object, nil if it, or its kind, is not there.
func (s Site) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	return o, nil
}

// noKind reports that a kind, or a version of it, is not served.
func noKind(err error) bool {
	var failed *discovery.ErrGroupDiscoveryFailed
	return meta.IsNoMatchError(err) || errors.As(err, &failed)
}

func text(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// replicas is the size that an object is to have; a topology or an autoscaler may say it.
func replicas(o *unstructured.Unstructured) int {
	if o == nil {
		return 0
	}
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return int(n)
}

// nameOf is an object as people name it.
func nameOf(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }

// condition reports whether a condition is true, in the newer form or the older.
func condition(o *unstructured.Unstructured, kind string) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(list, func(one any) bool {
		c, _ := one.(map[string]any)
		return c["type"] == kind && c["status"] == "True"
	})
}

// settled refuses clusters that are changing: what they are is not what they will be.
func (c *Cluster) settled() {
	const wait = "wait until it is done, then run the same command again"
	all := []*unstructured.Unstructured{c.seen.cluster, c.seen.plane}
	for _, name := range sortedKeys(c.seen.deployments) {
		all = append(all, c.seen.deployments[name])
	}
	for _, o := range all {
		if o == nil {
			continue
		}
		if o.GetDeletionTimestamp() != nil {
			c.problem(nameOf(o)+" is being deleted", wait)
		}
		if o.GetKind() != "Cluster" && condition(o, "RollingOut") {
			c.problem(nameOf(o)+" is replacing machines", wait)
		}
		looked, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration") // else there is no status yet
		if has, told, _ := unstructured.NestedInt64(o.Object, "status", "replicas"); looked > 0 && told && o.GetKind() != "Cluster" && int(has) != replicas(o) {
			c.problem(fmt.Sprintf("%s has %d machines of %d", nameOf(o), has, replicas(o)), wait)
		}
	}
	for i := range c.seen.machines {
		if m := &c.seen.machines[i]; m.GetDeletionTimestamp() != nil {
			c.problem(nameOf(m)+" is being deleted", wait)
		}
	}
}

// secretsThere refuses clusters without what makes them reachable.
func (c *Cluster) secretsThere(more ...string) {
	wanted := append([]string{c.Name + "-ca", c.Name + "-etcd", c.Name + "-proxy", c.Name + "-sa", c.Name + "-kubeconfig"}, more...)
	var missing []string
	for _, name := range wanted {
		if name != "" && !c.seen.secrets[name] {
			missing = append(missing, name)
		}
	}
	for _, name := range missing {
		remedy := "restore it from a backup; without it certificates cannot be signed"
		switch {
		case strings.HasSuffix(name, "-kubeconfig"):
			remedy = "Cluster API makes it from the authority: see why it does not with kubectl describe kubeadmcontrolplane"
		case slices.Contains(more, name):
			remedy = "restore it; without it the cluster has no access to OpenStack, or to its key"
		}
		c.problem("its Secret "+name+" is missing", remedy)
	}
}
