package kubeletcerts

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// watch is the watch of one cluster's requests.
type watch struct {
	cluster *target.Cluster
	client  certificatesclient.CertificateSigningRequestInterface
	stop    context.CancelFunc
	// broken is set when the cluster did not answer: its kubeconfig may have changed.
	broken atomic.Bool

	mu sync.Mutex
	// seen has when each request that is not right yet was first checked.
	seen map[string]time.Time
}

// age is how long ago a request was first checked.
func (w *watch) age(name string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, known := w.seen[name]
	if !known {
		first = time.Now()
		w.seen[name] = first
	}
	return time.Since(first)
}

func (w *watch) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, name)
}

// newWatch watches the requests of a cluster until ctx ends or it is stopped. It keeps only the
// names of what it sees.
func newWatch(ctx context.Context, cluster *target.Cluster, undecided func(name string), failed func()) (*watch, error) {
	config := rest.CopyConfig(cluster.Config)
	config.Timeout = 0 // it would end the watch
	client, err := certificatesclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of certificate signing requests: %w", err)
	}
	w := &watch{cluster: cluster, client: client.CertificateSigningRequests(), seen: map[string]time.Time{}}
	lists := cache.NewListWatchFromClient(client.RESTClient(), "certificatesigningrequests", metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.signerName", certificatesv1.KubeletServingSignerName))
	informer := cache.NewSharedInformer(lists, &certificatesv1.CertificateSigningRequest{}, 0)
	found := func(object any) {
		if csr, ok := object.(*certificatesv1.CertificateSigningRequest); ok && !decided(csr) {
			undecided(csr.Name)
		}
	}
	report := func(context.Context, *cache.Reflector, error) {
		w.broken.Store(true)
		failed()
	}
	if err := prepare(informer, nameAndConditions, report, cache.ResourceEventHandlerFuncs{AddFunc: found}); err != nil {
		return nil, err
	}
	ctx, w.stop = context.WithCancel(ctx)
	go informer.RunWithContext(ctx)
	return w, nil
}

// clusterInformer watches the Clusters that have the label. It keeps only their names.
func (r *reconciler) clusterInformer(changed func(key)) (cache.SharedIndexInformer, error) {
	mapping, err := r.mapper.RESTMapping(clusterKind())
	if err != nil {
		return nil, err
	}
	informer := metadatainformer.NewFilteredMetadataInformer(r.metadata, mapping.Resource, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = ClusterLabel + "=true" }).Informer()
	notify := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			changed(key(name.AsNamespacedName()))
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, object any) { notify(object) }, DeleteFunc: notify}
	return informer, prepare(informer, nameOnly, cache.DefaultWatchErrorHandler, handler)
}

func prepare(informer cache.SharedInformer, keep cache.TransformFunc, failed cache.WatchErrorHandlerWithContext, handler cache.ResourceEventHandler) error {
	if err := informer.SetTransform(keep); err != nil {
		return fmt.Errorf("preparing a watch: %w", err)
	}
	if err := informer.SetWatchErrorHandlerWithContext(failed); err != nil {
		return fmt.Errorf("preparing a watch: %w", err)
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("preparing a watch: %w", err)
	}
	return nil
}

func nameOnly(object any) (any, error) {
	if m, ok := object.(*metav1.PartialObjectMetadata); ok {
		m.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion, UID: m.UID}
	}
	return object, nil
}

func nameAndConditions(object any) (any, error) {
	if csr, ok := object.(*certificatesv1.CertificateSigningRequest); ok {
		return &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: csr.Name, ResourceVersion: csr.ResourceVersion, UID: csr.UID},
			Status:     certificatesv1.CertificateSigningRequestStatus{Conditions: csr.Status.Conditions}}, nil
	}
	return object, nil
}

// decided reports whether somebody has decided on a request.
func decided(csr *certificatesv1.CertificateSigningRequest) bool {
	for _, c := range csr.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			return true
		}
	}
	return false
}
