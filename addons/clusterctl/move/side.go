package move

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/slipway-sh/slipway/internal/kube"
)

// Side is one of the two clusters that objects are moved between.
type Side struct {
	// Name is what people call it.
	Name string
	// Kube and Config connect to its API server.
	Kube   *kube.Cluster
	Config *rest.Config
}

// clusterKind is the resource of Clusters.
func clusterKind() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
}

// definitions is the resource of definitions.
func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// object is an object that belongs to a cluster.
type object struct {
	*unstructured.Unstructured
	resource schema.GroupVersionResource
}

// key names an object on either side.
func (o object) key() string { return keyOf(o.GroupVersionKind().GroupKind(), o.GetName()) }

func keyOf(kind schema.GroupKind, name string) string { return kind.String() + "/" + name }

// kinds are the resources that clusterctl looks at in a namespace: those whose
// definitions carry its label, Secrets and ConfigMaps.
func (s Side) kinds(ctx context.Context) ([]schema.GroupVersionResource, error) {
	list, err := s.Kube.Dynamic.Resource(definitions()).List(ctx, metav1.ListOptions{LabelSelector: v1alpha3.ClusterctlLabel})
	if err != nil {
		return nil, fmt.Errorf("listing definitions on the %s: %w", s.Name, err)
	}
	kinds := []schema.GroupVersionResource{secretKind(), {Version: "v1", Resource: "configmaps"}}
	for _, item := range list.Items {
		if scope, _, _ := unstructured.NestedString(item.Object, "spec", "scope"); scope != "Namespaced" {
			continue
		}
		group, _, _ := unstructured.NestedString(item.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(item.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(item.Object, "spec", "versions")
		for _, v := range versions {
			if version, ok := v.(map[string]any); ok && version["storage"] == true {
				name, _ := version["name"].(string)
				kinds = append(kinds, schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
			}
		}
	}
	return kinds, nil
}

// objects returns those of a namespace that move with the cluster, by clusterctl's rules: what it
// owns, directly or not, its Secrets by their names, and what is labelled to be moved. all includes
// the others, too.
func (s Side) objects(ctx context.Context, cluster types.NamespacedName) (own, all []object, err error) {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range kinds {
		list, err := s.Kube.Dynamic.Resource(kind).Namespace(cluster.Namespace).List(ctx, metav1.ListOptions{})
		if kube.Absent(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("listing %s on the %s: %w", kind.Resource, s.Name, err)
		}
		for i := range list.Items {
			all = append(all, object{&list.Items[i], kind})
		}
	}
	return belonging(all, cluster.Name), all, nil
}

// belonging returns the objects that move with the cluster of that name, owners first.
func belonging(all []object, cluster string) []object {
	var own []object
	taken := map[types.UID]bool{}
	for found := true; found; {
		found = false
		for _, o := range all {
			if !taken[o.GetUID()] && goes(o, cluster, taken) {
				taken[o.GetUID()], found = true, true
				own = append(own, o)
			}
		}
	}
	return own
}

// goes reports whether an object moves along, given the owners that do.
func goes(o object, cluster string, taken map[types.UID]bool) bool {
	if _, labelled := o.GetLabels()[v1alpha3.ClusterctlMoveLabel]; labelled || o.resource == clusterKind() && o.GetName() == cluster {
		return true
	}
	owners := o.GetOwnerReferences()
	for _, owner := range owners {
		if taken[owner.UID] {
			return true
		}
	}
	if len(owners) > 0 || o.resource != secretKind() {
		return false
	}
	of, _, err := secret.ParseSecretName(o.GetName())
	return err == nil && of == cluster
}

// cluster reads the Cluster; it returns nil if there is none.
func (s Side) cluster(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	cluster, err := s.Kube.Dynamic.Resource(clusterKind()).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if kube.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Cluster %s on the %s: %w", name, s.Name, err)
	}
	return cluster, nil
}

// paused reports whether controllers leave the Cluster alone.
func paused(cluster *unstructured.Unstructured) bool {
	value, _, _ := unstructured.NestedBool(cluster.Object, "spec", "paused")
	_, annotated := cluster.GetAnnotations()["cluster.x-k8s.io/paused"]
	return value || annotated
}

// resume lets controllers work on the Cluster again; if there is none, it does nothing.
func (s Side) resume(ctx context.Context, name types.NamespacedName) error {
	cluster, err := s.cluster(ctx, name)
	if err != nil || cluster == nil {
		return err
	}
	if value, _, _ := unstructured.NestedBool(cluster.Object, "spec", "paused"); !value {
		return nil
	}
	_, err = s.Kube.Dynamic.Resource(clusterKind()).Namespace(name.Namespace).Patch(ctx, name.Name, types.MergePatchType,
		[]byte(`{"spec":{"paused":null}}`), metav1.PatchOptions{FieldManager: kube.FieldManager})
	if err != nil {
		return fmt.Errorf("resuming Cluster %s on the %s: %w", name, s.Name, err)
	}
	return nil
}

// secretKind is the resource of Secrets.
func secretKind() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}
