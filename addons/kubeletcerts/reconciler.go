package kubeletcerts

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

const (
	// answerTime is how long a cluster may take for one request.
	answerTime = 10 * time.Second
	// lookAgain is when to check again for what sends no event: the kind Cluster, a kubeconfig.
	lookAgain = 30 * time.Second
	// kubeletWaits is a little more than a kubelet waits for an answer to one request: then it
	// makes a new request, with another key (client-go's certificateWaitTimeout).
	kubeletWaits = 20 * time.Minute
	// settles is how long a Machine may take to learn its node and its addresses. Until then,
	// nobody is told that a kubelet waits.
	settles = time.Minute
	// soonest and latest bound the time between two checks of a request that is not right yet.
	soonest = 2 * time.Second
	latest  = time.Minute
)

type key types.NamespacedName

// request is what is to be checked: a certificate signing request of a cluster; the Cluster if it
// has no name; the kind Cluster if it is empty.
type request struct {
	cluster key
	name    string
}

// reconciler keeps a watch for each Cluster with the label, and decides on requests.
type reconciler struct {
	mapper   meta.RESTMapper
	metadata metadata.Interface
	// live reads from the API server: kubeconfigs and Machines are seldom needed.
	live     client.Reader
	clusters *target.Clusters
	// settles and lookAgain are the constants, except in tests.
	settles, lookAgain time.Duration

	// lifetime is the context of all watches.
	lifetime context.Context //nolint:containedctx // the manager's, from start to its end
	queue    workqueue.TypedRateLimitingInterface[request]

	mu sync.Mutex
	// labelled has the Clusters with the label; nil until their kind is there.
	labelled cache.Store
	watches  map[key]*watch
}

func clusterKind() schema.GroupKind {
	return schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}
}

// start receives the queue and starts the first check.
func (r *reconciler) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	r.lifetime, r.queue = ctx, queue
	queue.Add(request{})
	return nil
}

// Reconcile brings a request, or the watch of a Cluster, a step further.
func (r *reconciler) Reconcile(ctx context.Context, q request) (reconcile.Result, error) {
	switch {
	case q == request{}:
		return r.watchClusters()
	case q.name == "":
		return r.watchRequests(ctx, q.cluster)
	default:
		return r.decide(ctx, q)
	}
}

// watchClusters begins to watch Clusters once their kind is there.
func (r *reconciler) watchClusters() (reconcile.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.labelled != nil {
		return reconcile.Result{}, nil
	}
	informer, err := r.clusterInformer(func(cluster key) { r.queue.Add(request{cluster: cluster}) })
	if meta.IsNoMatchError(err) {
		return reconcile.Result{RequeueAfter: r.lookAgain}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("watching Clusters: %w", err)
	}
	r.labelled = informer.GetStore()
	go informer.RunWithContext(r.lifetime)
	return reconcile.Result{}, nil
}

// watchRequests keeps the watch of one Cluster: the watch exists as long as the Cluster has the
// label, and is made again when the kubeconfig changes.
func (r *reconciler) watchRequests(ctx context.Context, cluster key) (reconcile.Result, error) {
	r.mu.Lock()
	_, wanted, err := r.labelled.GetByKey(types.NamespacedName(cluster).String())
	w := r.watches[cluster]
	r.mu.Unlock()
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading Cluster %s: %w", types.NamespacedName(cluster), err)
	}
	if !wanted {
		r.replace(cluster, nil)
		return reconcile.Result{}, r.disconnect(ctx, cluster)
	}
	if w != nil && !w.broken.Load() {
		return reconcile.Result{}, nil
	}
	kubeconfig, err := target.Kubeconfig(ctx, r.live, types.NamespacedName(cluster))
	if err != nil {
		return reconcile.Result{}, err
	}
	if kubeconfig == nil {
		return reconcile.Result{RequeueAfter: r.lookAgain}, nil
	}
	connection, err := r.clusters.Connect(types.NamespacedName(cluster), kubeconfig)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("connecting to Cluster %s: %w", types.NamespacedName(cluster), err)
	}
	if w != nil && w.cluster == connection { // it tries again by itself
		w.broken.Store(false)
		return reconcile.Result{}, nil
	}
	w, err = newWatch(r.lifetime, connection, func(name string) { r.queue.Add(request{cluster, name}) }, func() { r.queue.Add(request{cluster: cluster}) })
	if err != nil {
		return reconcile.Result{}, err
	}
	r.replace(cluster, w)
	return reconcile.Result{}, nil
}

// disconnect forgets the connection to a Cluster that is gone.
func (r *reconciler) disconnect(ctx context.Context, cluster key) error {
	mapping, err := r.mapper.RESTMapping(clusterKind())
	if err != nil {
		return fmt.Errorf("finding kind Cluster: %w", err)
	}
	_, err = r.metadata.Resource(mapping.Resource).Namespace(cluster.Namespace).Get(ctx, cluster.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.clusters.Drop(types.NamespacedName(cluster))
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Cluster %s: %w", types.NamespacedName(cluster), err)
	}
	return nil
}

// replace ends the watch of a cluster, if there is one, and records its successor.
func (r *reconciler) replace(cluster key, w *watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.watches[cluster]; old != nil {
		old.stop()
	}
	if w == nil {
		delete(r.watches, cluster)
		return
	}
	r.watches[cluster] = w
}

// decide approves a request, or writes on it why not. It denies none: nobody gains anything from a
// pending request, an operator can still approve it, and a kubelet answers a denial with the next
// request at once.
func (r *reconciler) decide(ctx context.Context, q request) (reconcile.Result, error) {
	r.mu.Lock()
	w := r.watches[q.cluster]
	r.mu.Unlock()
	if w == nil {
		return reconcile.Result{}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %s", answerTime))
	defer cancel()
	csr, err := w.client.Get(ctx, q.name, metav1.GetOptions{})
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading the certificate signing request: %w", err)
	}
	if err != nil || decided(csr) {
		w.forget(q.name)
		return reconcile.Result{}, nil
	}
	a, err := read(csr)
	if err != nil { // for ever
		return reconcile.Result{}, w.note(ctx, csr, err)
	}
	machines, err := r.machines(ctx, q.cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	name, err := judge(a, machines)
	if err == nil {
		return reconcile.Result{}, w.approve(ctx, csr, types.NamespacedName{Namespace: q.cluster.Namespace, Name: name})
	}
	return w.later(ctx, csr, err, r.settles)
}

// later is when to check a request again that is not right yet. Its age counts from when it was
// first checked: the clock of its cluster may differ.
func (w *watch) later(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, why error, settles time.Duration) (reconcile.Result, error) {
	age := w.age(csr.Name)
	if age >= settles {
		if err := w.note(ctx, csr, why); err != nil {
			return reconcile.Result{}, err
		}
	}
	if age >= kubeletWaits {
		w.forget(csr.Name)
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: min(max(age, soonest), latest)}, nil
}

// machines are the Machines of a cluster.
func (r *reconciler) machines(ctx context.Context, cluster key) ([]machine, error) {
	mapping, err := r.mapper.RESTMapping(schema.GroupKind{Group: clusterKind().Group, Kind: "Machine"})
	if err != nil {
		return nil, fmt.Errorf("finding kind Machine: %w", err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := r.live.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingLabels{"cluster.x-k8s.io/cluster-name": cluster.Name}); err != nil {
		return nil, fmt.Errorf("listing Machines of Cluster %s: %w", types.NamespacedName(cluster), err)
	}
	all := make([]machine, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, machineOf(&list.Items[i]))
	}
	return all, nil
}

// approve approves a request as it was read: Kubernetes refuses that if somebody has decided since.
func (w *watch) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, machine types.NamespacedName) error {
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "MachineAddresses",
		Message: "Slipway: the names and addresses are those of Machine " + machine.String()})
	if _, err := w.client.UpdateApproval(ctx, csr.Name, csr, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("approving the certificate signing request: %w", err)
	}
	log.FromContext(ctx).Info("serving certificate approved", "user", csr.Spec.Username, "machine", machine.String())
	return nil
}

// note writes on a request why it is not approved.
func (w *watch) note(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, why error) error {
	if csr.Annotations[ReasonAnnotation] == why.Error() {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{ReasonAnnotation: why.Error()}}})
	if err != nil {
		return fmt.Errorf("encoding the reason: %w", err)
	}
	if _, err := w.client.Patch(ctx, csr.Name, types.MergePatchType, patch, metav1.PatchOptions{}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("noting why the certificate signing request is not approved: %w", err)
	}
	log.FromContext(ctx).Info("serving certificate not approved", "user", csr.Spec.Username, "reason", why.Error())
	return nil
}
