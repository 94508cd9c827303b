package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Tenant is what the Magnum API says of a cluster. Its tenant knows it by these names,
// not by that of its objects.
type Tenant struct {
	Name      string `json:"name"`
	UUID      string `json:"uuid"`
	ProjectID string `json:"projectId"`
}

// Find returns the namespace and the name of a cluster, or of what is left of it. name is
// that of its objects or, for a cluster of the Magnum API, its name or UUID there. If there
// is none it is the namespace that the cluster would get: its name. Of an ambiguous name
// the error lists the clusters.
func (m *Management) Find(ctx context.Context, name, namespace string) (Key, error) {
	tenants, err := Tenants(ctx, m.Kube.Dynamic, namespace)
	if err != nil {
		return Key{}, err
	}
	named, err := m.named(ctx, name, namespace)
	if err != nil {
		return Key{}, err
	}
	key, err := choose(name, named, tenants)
	if err != nil || key != (Key{}) {
		return key, err
	}
	return Key{Namespace: cmp.Or(namespace, name), Name: name}, CheckName(name)
}

// choose returns the one cluster that is meant, or an empty key if there is none. A UUID
// means one cluster, whatever others are called.
func choose(name string, named []Key, tenants map[Key]Tenant) (Key, error) {
	found := slices.Clone(named)
	for key, tenant := range tenants {
		if tenant.UUID == name {
			return key, nil
		}
		if tenant.Name == name && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		return Key{}, nil
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var words []string
	places := map[string]bool{}
	for _, key := range found {
		places[key.Namespace] = true
		word := "cluster " + key.Name + " in namespace " + key.Namespace
		if tenant, is := tenants[key]; is {
			word += " (Magnum UUID " + tenant.UUID + ")"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	remedy := "choose one with --namespace"
	if len(places) < len(found) {
		remedy = "give its UUID"
	} else if len(tenants) > 0 {
		remedy += ", or give its UUID"
	}
	return Key{}, fault.Usage("cluster "+name, errors.New("several clusters have this name: "+strings.Join(words, ", ")), remedy)
}

// named returns the clusters, and what is left of them, whose objects have the name. It may
// be one that Cluster API takes and Slipway does not give, of a cluster that was adopted as it
// is. An empty namespace means all.
func (m *Management) named(ctx context.Context, name, namespace string) ([]Key, error) {
	if name == "" || len(validation.IsValidLabelValue(name)) > 0 { // Cluster API labels objects with it
		return nil, nil
	}
	reports, err := clusterapi.Read(ctx, m.Kube.Dynamic, namespace)
	if err != nil {
		return nil, err
	}
	var found []Key
	for _, r := range reports {
		if r.Name == name {
			found = append(found, Key{Namespace: r.Namespace, Name: name})
		}
	}
	marked, err := m.marked(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	for _, secret := range marked {
		if key := (Key{Namespace: secret.Namespace, Name: name}); !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	return found, nil
}

// Tenants returns the clusters of the Magnum API by the key of their Cluster; none where
// the API is not installed. An empty namespace means all.
func Tenants(ctx context.Context, on dynamic.Interface, namespace string) (map[Key]Tenant, error) {
	list, err := on.Resource(v1alpha1.GroupVersion().WithResource("clusters")).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the clusters of the Magnum API: %w", err)
	}
	all := map[Key]Tenant{}
	for _, item := range list.Items {
		var c v1alpha1.Cluster
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &c); err != nil {
			return nil, fmt.Errorf("reading %s/%s of the Magnum API: %w", item.GetNamespace(), item.GetName(), err)
		}
		all[Key{Namespace: c.Namespace, Name: c.Stack()}] = Tenant{Name: c.Title(), UUID: c.UUID(), ProjectID: c.Spec.ProjectID}
	}
	return all, nil
}

// tenant returns what tenants has of a cluster, nil if it has nothing.
func tenant(tenants map[Key]Tenant, key Key) *Tenant {
	if t, is := tenants[key]; is {
		return &t
	}
	return nil
}
