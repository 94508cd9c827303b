package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// reconciler brings clusters in line.
type reconciler struct {
	Options
	client client.Client
	// live reads around the cache.
	live client.Reader
	// kept has the metadata of the endpoint's Secrets.
	kept   client.Reader
	events record.EventRecorder

	// first is when what is not well was first met: trouble, and causes without a time.
	first memory
	// known is what is wrong with each cluster.
	known *causes

	mu sync.Mutex
	// seen are generations that were written and the cache has yet to show.
	seen map[types.NamespacedName]map[string]int64
}

func newReconciler(c client.Client, live client.Reader, o Options) *reconciler {
	return &reconciler{Options: o, client: c, live: live, kept: c, events: record.NewFakeRecorder(0), known: newCauses(),
		seen: map[types.NamespacedName]map[string]int64{}}
}

// pass is one look at one cluster.
type pass struct {
	*reconciler
	key     types.NamespacedName
	cluster *v1alpha1.Cluster
	// stored is the status as it was read, or written since.
	stored *v1alpha1.ClusterStatus
	// groups are to stay, leaving are being deleted.
	groups, leaving []*v1alpha1.NodeGroup
	objects         observe.Objects
	state           *observe.State
	now             time.Time
	// applied says that the release changed in this pass, upgrading that it is
	// being made of another template.
	applied, upgrading bool
	held               map[string]driver.Software
	trouble            *trouble
	warnings           []driver.Warning
	again              time.Duration
}

// trouble is what keeps a cluster from being brought in line. Final trouble
// ends the operation at once, other after a while.
type trouble struct {
	err   error
	final bool
}

// later asks for another look.
func (p *pass) later(after time.Duration) {
	if after > 0 && (p.again == 0 || after < p.again) {
		p.again = after
	}
}

// Reconcile looks at one cluster.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	p := &pass{reconciler: r, key: request.NamespacedName, cluster: &v1alpha1.Cluster{}, now: r.Now()}
	err := r.client.Get(ctx, request.NamespacedName, p.cluster)
	if apierrors.IsNotFound(err) {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, p.orphans(ctx)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading cluster: %w", err)
	}
	if v1alpha1.Held(p.cluster) != "" {
		// Somebody else looks after it. It has no finalizer, and may be deleted.
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if held, err := p.recovering(ctx); err != nil {
		return reconcile.Result{}, err
	} else if held {
		return reconcile.Result{RequeueAfter: recoveringPause}, nil
	}
	p.cluster = p.cluster.DeepCopy()
	p.stored = p.cluster.Status.DeepCopy()
	if err := p.readGroups(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if p.cluster.DeletionTimestamp != nil {
		err = p.delete(ctx)
	} else {
		err = p.ensure(ctx)
	}
	if apierrors.IsConflict(err) {
		// Somebody else wrote in between; the cache will tell what.
		return reconcile.Result{RequeueAfter: firstPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, err // the queue's own pauses are for errors
	}
	return reconcile.Result{RequeueAfter: p.again}, nil
}

// recoveringPause is when a cluster that is held is looked at again; its release is an event.
const recoveringPause = time.Minute

// recovering says that recovery or an undo holds the cluster: what Cluster API has of it is
// from a backup and not proved yet. A pause alone does not keep Helm from writing it.
func (p *pass) recovering(ctx context.Context) (bool, error) {
	cluster, err := get(ctx, p.client, capiCluster(), p.key.Namespace, p.cluster.Stack())
	if err != nil || cluster == nil {
		return false, err
	}
	_, held := cluster.GetAnnotations()[v1alpha1.AnnotationRecovering]
	return held, nil
}

func (r *reconciler) forget(key types.NamespacedName) {
	r.first.forget(key)
	r.known.learn(key, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}

func (p *pass) readGroups(ctx context.Context) error {
	var list v1alpha1.NodeGroupList
	if err := p.client.List(ctx, &list, client.InNamespace(p.key.Namespace), client.MatchingFields{indexCluster: p.key.Name}); err != nil {
		return fmt.Errorf("listing node groups: %w", err)
	}
	for i := range list.Items {
		g := list.Items[i].DeepCopy()
		if g.DeletionTimestamp != nil {
			p.leaving = append(p.leaving, g)
			continue
		}
		p.groups = append(p.groups, g)
	}
	return nil
}

var errForeign = errors.New("its namespace is not that of its project")

// ensure brings a cluster in line and writes what became of it.
func (p *pass) ensure(ctx context.Context) error {
	if v1alpha1.Namespace(p.cluster.Spec.ProjectID) != p.cluster.Namespace {
		p.state, p.trouble = observe.Of(observe.Objects{}), &trouble{errForeign, true}
		return p.report(ctx)
	}
	if !controllerutil.ContainsFinalizer(p.cluster, v1alpha1.FinalizerCluster) {
		before := p.cluster.DeepCopy()
		controllerutil.AddFinalizer(p.cluster, v1alpha1.FinalizerCluster)
		if err := p.client.Patch(ctx, p.cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("adding the finalizer: %w", err)
		}
	}
	if err := p.observe(ctx, p.client, p.indexed()); err != nil {
		return err
	}
	if p.stale() {
		return nil // the event that is on its way brings another pass
	}
	for _, step := range []func(context.Context) error{p.begin, p.takeTemplate, p.defaultGroups, p.follow, p.resolve, p.keepFixed, p.keepBalancer, p.markMachines, p.bringInLine, p.scale, p.letGo} {
		if p.trouble != nil && p.trouble.final {
			break
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{p.trustCloud, p.credentials} { // trouble or not
		if err := step(ctx); err != nil {
			return err
		}
	}
	return p.report(ctx)
}

// begin writes that an operation is under way before anything else of it is
// noted: were it told only at the end of the pass, one that ends in between
// would leave groups that were seen, and a cluster that never said it changed.
func (p *pass) begin(ctx context.Context) error {
	phase := p.cluster.Status.Phase
	changed := len(p.leaving) > 0 || p.cluster.Generation > p.cluster.Status.ObservedGeneration
	for _, g := range p.groups {
		changed = changed || g.Generation > g.Status.ObservedGeneration
	}
	if !changed || phase == "" || phase.InProgress() {
		return nil
	}
	return p.writeCluster(ctx, func(s *v1alpha1.ClusterStatus) { s.Phase = next(phase, true, false, false) })
}

// indexed is how the cache finds what is of the cluster.
func (p *pass) indexed() client.ListOption {
	return client.MatchingFields{indexStack: p.cluster.Stack()}
}

// observe reads Cluster API's objects of the cluster.
func (p *pass) observe(ctx context.Context, from client.Reader, how ...client.ListOption) error {
	var err error
	if p.objects, err = readObjects(ctx, from, p.key.Namespace, p.cluster.Stack(), how...); err != nil {
		return err
	}
	p.judge(ctx)
	return nil
}

// stay notes trouble that is not an error of this program: it is told, and
// looked at again.
func (p *pass) stay(err error, final bool) {
	if p.trouble == nil {
		p.trouble = &trouble{err, final}
	}
}
