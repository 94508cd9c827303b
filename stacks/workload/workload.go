// Package workload makes, shows and deletes clusters on a management cluster for
// its operators, without the Magnum API: each is a Helm release of the
// openstack-cluster chart, in a namespace and with a credential of its own.
//
// Nothing is remembered elsewhere: what belongs to a cluster is known by a label
// in Kubernetes and a mark in Keystone, so that a run that was killed is gone on
// with by the next.
package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks"
)

// LabelCluster is on what is made for a cluster beside the chart's objects: its
// namespace, the Secret of its credential and Helm's records. The value is the
// cluster's name.
const LabelCluster = "slipway.sh/cluster"

// Origin is who made a cluster.
type Origin string

// The origins. A cluster that is not there has none.
const (
	None Origin = ""
	// Ours are the clusters of this package.
	Ours   Origin = "slipway"
	Magnum Origin = "magnum"
	// Itself is the management cluster that looks after itself.
	Itself Origin = "environment"
	Others Origin = "others"
)

// Management is a management cluster.
type Management struct {
	// Environment is its environment's name, which is its own, too.
	Environment string
	Kube        *kube.Cluster
	config      *rest.Config
}

// New returns the management cluster of an environment. It sends nothing.
func New(environment string, config *rest.Config) (*Management, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1 // priority and fairness of the server decides
	cluster, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	return &Management{environment, cluster, config}, nil
}

// Key is the namespace and the name of a cluster.
type Key = types.NamespacedName

// longestName is that of a Helm release.
const longestName = 53

// CheckName refuses what cannot be the name of a cluster.
func CheckName(name string) error {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 || len(name) > longestName {
		return fault.Usage("cluster "+name, errors.New("this cannot be its name"), fmt.Sprintf("use at most %d lower-case letters, digits and dashes, a letter first and no dash last", longestName))
	}
	return nil
}

// Find returns the namespace that a cluster, or what is left of it, is in. Of one
// that is nowhere it is the one that it would get: its name.
func (m *Management) Find(ctx context.Context, name, namespace string) (Key, error) {
	if err := CheckName(name); err != nil {
		return Key{}, err
	}
	if namespace != "" {
		return Key{Namespace: namespace, Name: name}, nil
	}
	reports, err := clusterapi.Read(ctx, m.Kube.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return Key{}, err
	}
	found := map[string]bool{}
	for _, r := range reports {
		if r.Name == name {
			found[r.Namespace] = true
		}
	}
	marked, err := m.marked(ctx, metav1.NamespaceAll, name)
	if err != nil {
		return Key{}, err
	}
	for _, secret := range marked {
		found[secret.Namespace] = true
	}
	places := slices.Sorted(maps.Keys(found))
	switch len(places) {
	case 0:
		return Key{Namespace: name, Name: name}, nil
	case 1:
		return Key{Namespace: places[0], Name: name}, nil
	}
	return Key{}, fault.Usage("cluster "+name, fmt.Errorf("there is one in each of the namespaces %s", strings.Join(places, ", ")), "say with --namespace which one")
}

// marked are the Secrets that have the label, of one cluster or, with an empty
// name, of all, without what is in them.
func (m *Management) marked(ctx context.Context, namespace, name string) ([]metav1.PartialObjectMetadata, error) {
	client, err := metadata.NewForConfig(m.config)
	if err != nil {
		return nil, fmt.Errorf("making a client of metadata: %w", err)
	}
	selector := LabelCluster
	if name != "" {
		selector += "=" + name
	}
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	return list.Items, nil
}

// known is what there is of a cluster before anything is done about it.
type known struct {
	origin Origin
	// namespace is nil if there is none.
	namespace *corev1.Namespace
	release   *release.Release
	// exists says that there is a Cluster.
	exists bool
}

// owns says that the namespace is of the cluster.
func (k known) owns(key Key) bool {
	return k.namespace != nil && k.namespace.Labels[LabelCluster] == key.Name
}

// look finds out what there is of a cluster, and who made it.
func (m *Management) look(ctx context.Context, key Key) (k known, err error) {
	if k.namespace, err = m.Kube.Typed.CoreV1().Namespaces().Get(ctx, key.Namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		k.namespace = nil
		return k, nil
	} else if err != nil {
		return k, fmt.Errorf("reading namespace %s: %w", key.Namespace, err)
	}
	client, err := m.helm(key.Namespace)
	if err != nil {
		return k, err
	}
	if k.release, err = client.Last(key.Name); err != nil {
		return k, err
	}
	if k.exists, err = clusterapi.Exists(ctx, m.Kube.Dynamic, key.Namespace, key.Name); err != nil {
		return k, err
	}
	ours := k.release != nil && k.release.Labels[LabelCluster] == key.Name
	if k.exists || k.release != nil {
		k.origin = m.origin(key, k.namespace.Labels, ours)
	}
	return k, nil
}

// origin is who made a cluster that is there.
func (m *Management) origin(key Key, namespace map[string]string, ours bool) Origin {
	switch {
	case m.itself(key):
		return Itself
	case namespace[v1alpha1.LabelProject] != "":
		return Magnum
	case ours:
		return Ours
	}
	return Others
}

// itself says that a cluster is the management cluster.
func (m *Management) itself(key Key) bool {
	return key == Key{Namespace: stacks.ManagementNamespace, Name: m.Environment}
}

func (m *Management) helm(namespace string) (*helm.Client, error) {
	return helm.New(m.config, namespace, slog.New(slog.DiscardHandler))
}

// object names a cluster in errors.
func object(key Key) string { return "cluster " + key.String() }
