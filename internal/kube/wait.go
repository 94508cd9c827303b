package kube

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-sh/slipway/internal/fault"
)

func schemaKind(group, kind string) schema.GroupKind {
	return schema.GroupKind{Group: group, Kind: kind}
}

// reconsider is how often causes are judged again if nothing changes.
const reconsider = 5 * time.Second

// logLines is how many lines of a container's log are shown.
const logLines = 10

// WaitAvailable waits until the Deployments are available. It fails early if one cannot
// become available, with the cause and the last lines of the container's log (row
// S-26); at the end of ctx it says what was missing. progress, if not nil, receives
// what is waited for whenever that changes.
//
// Pods that have crashed so often that it would give up at once are deleted first. Whoever runs a
// command again has fixed the cause, and Kubernetes starts such a pod again only after minutes.
func (c *Cluster) WaitAvailable(ctx context.Context, deployments []types.NamespacedName, progress func(string)) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	w := &waiter{cluster: c, wanted: deployments, changed: make(chan struct{}, 1), progress: progress}
	if err := w.follow(following); err != nil {
		return err
	}
	if err := w.revive(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(reconsider)
	defer tick.Stop()
	for {
		missing := w.look(time.Now())
		if len(missing) == 0 {
			return nil
		}
		if err := w.judge(ctx, missing); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return w.late(ctx, missing)
		case <-w.changed:
		case <-tick.C:
		}
	}
}

type waiter struct {
	cluster     *Cluster
	wanted      []types.NamespacedName
	deployments cache.Indexer
	pods        cache.Indexer
	changed     chan struct{}
	progress    func(string)
	said        string
	// gone are pods that revive deleted; those who watch learn it later.
	gone map[types.UID]bool
}

// revive deletes the pods that crash and count as hopeless.
func (w *waiter) revive(ctx context.Context) error {
	w.gone = map[types.UID]bool{}
	for _, name := range w.wanted {
		item, _, _ := w.deployments.GetByKey(name.String())
		d, ok := item.(*appsv1.Deployment)
		if !ok {
			continue
		}
		for _, pod := range w.podsOf(d) {
			if c, bad := podCause(pod, time.Now()); !bad || !c.Hopeless || c.Container == "" || pod.DeletionTimestamp != nil {
				continue
			}
			only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
			err := w.cluster.Typed.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, only)
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return fmt.Errorf("starting pod %s/%s again, which crashes: %w", pod.Namespace, pod.Name, err)
			}
			w.gone[pod.UID] = true
		}
	}
	return nil
}

// follow watches Deployments and pods.
func (w *waiter) follow(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(w.cluster.Typed, 0)
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.wake() }, UpdateFunc: func(any, any) { w.wake() }, DeleteFunc: func(any) { w.wake() },
	}
	deployments, pods := factory.Apps().V1().Deployments().Informer(), factory.Core().V1().Pods().Informer()
	for _, informer := range []cache.SharedIndexInformer{deployments, pods} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching: %w", err)
		}
	}
	w.deployments, w.pods = deployments.GetIndexer(), pods.GetIndexer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), deployments.HasSynced, pods.HasSynced) {
		return fmt.Errorf("watching Deployments: %w", context.Cause(ctx))
	}
	return nil
}

func (w *waiter) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// look returns the causes of each Deployment that is not available.
func (w *waiter) look(now time.Time) map[types.NamespacedName][]Cause {
	missing := map[types.NamespacedName][]Cause{}
	for _, name := range w.wanted {
		item, found, _ := w.deployments.GetByKey(name.String())
		d, ok := item.(*appsv1.Deployment)
		if !found || !ok {
			missing[name] = []Cause{{Object: "Deployment " + name.String(), Reason: "does not exist"}}
			continue
		}
		if pods := w.podsOf(d); !available(d, pods) {
			missing[name] = causes(d, pods, now)
		}
	}
	w.tell(missing)
	return missing
}

func (w *waiter) podsOf(d *appsv1.Deployment) []*corev1.Pod {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil
	}
	var found []*corev1.Pod
	for _, item := range w.pods.List() {
		if pod, ok := item.(*corev1.Pod); ok && !w.gone[pod.UID] && pod.Namespace == d.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			found = append(found, pod)
		}
	}
	return found
}

func (w *waiter) tell(missing map[types.NamespacedName][]Cause) {
	if w.progress == nil || len(missing) == 0 {
		return
	}
	var names []string
	for _, name := range sorted(missing) {
		names = append(names, name.Name)
	}
	text := fmt.Sprintf("%d of %d available; waiting for %s", len(w.wanted)-len(missing), len(w.wanted), strings.Join(names, ", "))
	if text != w.said {
		w.progress(text)
		w.said = text
	}
}

func sorted(missing map[types.NamespacedName][]Cause) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(missing), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}

// judge returns the fault if waiting is hopeless.
func (w *waiter) judge(ctx context.Context, missing map[types.NamespacedName][]Cause) error {
	for _, name := range sorted(missing) {
		if found := missing[name]; len(found) > 0 && found[0].Hopeless {
			return w.explain(ctx, name, found[0])
		}
	}
	return nil
}

// late is the fault if the time is over.
func (w *waiter) late(ctx context.Context, missing map[types.NamespacedName][]Cause) error {
	over := context.WithoutCancel(ctx)
	for _, name := range sorted(missing) {
		cause := Cause{Object: "Deployment " + name.String(), Reason: "is not available yet"}
		if found := missing[name]; len(found) > 0 {
			cause = found[0]
		}
		return fmt.Errorf("%w: %w", context.Cause(ctx), w.explain(over, name, cause))
	}
	return context.Cause(ctx)
}

func (w *waiter) explain(ctx context.Context, name types.NamespacedName, cause Cause) error {
	err := fmt.Errorf("waiting until it is available: %s", cause)
	if words := w.lastWords(ctx, cause); words != "" {
		err = fmt.Errorf("%w\nlast lines of its log:\n%s", err, words)
	}
	return fault.New("Deployment "+name.String(), err, "see kubectl -n "+name.Namespace+" describe pods, on the seed by slipway ssh, on the management cluster with the file of slipway kubeconfig; then run the same command again")
}

// lastWords returns the end of the log of a container that exited.
func (w *waiter) lastWords(ctx context.Context, cause Cause) string {
	if cause.Container == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lines := int64(logLines)
	stream, err := w.cluster.Typed.CoreV1().Pods(cause.Namespace).GetLogs(cause.Pod,
		&corev1.PodLogOptions{Container: cause.Container, Previous: true, TailLines: &lines}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer stream.Close()
	text, _ := io.ReadAll(io.LimitReader(stream, 16<<10))
	return strings.TrimSpace(string(text))
}
