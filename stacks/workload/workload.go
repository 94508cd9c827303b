// Package workload creates, shows and deletes workload clusters on a management cluster for
// operators, without the Magnum API. Each cluster is a Helm release of the
// openstack-cluster chart, with a namespace and a credential of its own.
//
// There is no other state: what belongs to a cluster is recognised by a label in Kubernetes
// and an ownership tag in Keystone, so that the next run resumes one that was killed.
package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

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
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks"
)

// LabelCluster is the label on what is created for a cluster in addition to the chart's
// objects: its namespace, the Secret of its credential and Helm's records. Its value is the
// cluster's name.
const LabelCluster = "slipway.sh/cluster"

// RecordType is the type of the Secret that records a cluster that was adopted as it is.
const RecordType corev1.SecretType = "slipway.sh/adopted"

// RecordName is the name of that Secret.
func RecordName(cluster string) string { return cluster + "-adopted" }

// Origin is who created a cluster.
type Origin string

// The origins. A cluster that does not exist has none.
const (
	None Origin = ""
	// Ours are the clusters of this package.
	Ours   Origin = "slipway"
	Magnum Origin = "magnum"
	// Itself is the self-managed management cluster.
	Itself Origin = "environment"
	Others Origin = "others"
)

// Management is a management cluster.
type Management struct {
	// Environment is the name of its environment, which is also its own.
	Environment string
	Kube        *kube.Cluster
	// Way leads to the clusters themselves, which List and Describe ask; nil asks none.
	Way    within.Way
	config *rest.Config
	// leaving is held by a cluster that leaves its project.
	leaving *sync.Mutex
}

// New returns the management cluster of an environment. It sends no requests.
func New(environment string, config *rest.Config) (*Management, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1 // priority and fairness of the server decides
	cluster, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	return &Management{Environment: environment, Kube: cluster, config: config, leaving: &sync.Mutex{}}, nil
}

// Key is the namespace and the name of a cluster.
type Key = types.NamespacedName

// longestName is the maximum length of a Helm release's name.
const longestName = 53

// CheckName refuses invalid cluster names.
func CheckName(name string) error {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 || len(name) > longestName {
		return fault.Usage("cluster "+name, errors.New("this is not a valid name"), fmt.Sprintf("use at most %d lower-case letters, digits and dashes; begin with a letter and do not end with a dash", longestName))
	}
	return nil
}

// marked returns the metadata of the Secrets with the label, of one cluster or, with an
// empty name, of all.
func (m *Management) marked(ctx context.Context, namespace, name string) ([]metav1.PartialObjectMetadata, error) {
	client, err := metadata.NewForConfig(m.config)
	if err != nil {
		return nil, fmt.Errorf("creating a metadata client: %w", err)
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

// known is what exists of a cluster before anything is changed.
type known struct {
	origin Origin
	// namespace is nil if there is none.
	namespace *corev1.Namespace
	release   *release.Release
	// exists reports whether the Cluster exists.
	exists bool
	// surplusStores reports that it has object stores that the values do not name.
	surplusStores bool
	// asItIs reports that it was adopted without a release.
	asItIs bool
}

// adopted reports whether a release was taken over with its values.
func (k known) adopted() bool {
	return k.origin == Ours && k.release != nil && k.release.Config["adopted"] != nil
}

// owns reports whether the namespace belongs to the cluster.
func (k known) owns(key Key) bool {
	return k.namespace != nil && k.namespace.Labels[LabelCluster] == key.Name
}

// look finds what exists of a cluster, and who created it.
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
	if k.asItIs, err = m.recorded(ctx, key); err != nil {
		return k, err
	}
	ours := k.asItIs || k.release != nil && k.release.Labels[LabelCluster] == key.Name
	if k.exists || k.release != nil {
		k.origin = m.origin(key, k.namespace.Labels, ours)
	}
	return k, nil
}

// recorded reports whether a cluster was adopted as it is.
func (m *Management) recorded(ctx context.Context, key Key) (bool, error) {
	secret, err := m.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(ctx, RecordName(key.Name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the record of cluster %s: %w", key, err)
	}
	return secret.Type == RecordType && secret.Labels[LabelCluster] == key.Name, nil
}

// origin returns who created an existing cluster.
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

// itself reports whether a cluster is the management cluster.
func (m *Management) itself(key Key) bool {
	return key == Key{Namespace: stacks.ManagementNamespace, Name: m.Environment}
}

func (m *Management) helm(namespace string) (*helm.Client, error) {
	return helm.New(m.config, namespace, slog.New(slog.DiscardHandler))
}

// object names a cluster in errors.
func object(key Key) string { return "cluster " + key.String() }
