package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Read returns reports on the clusters of a namespace, or of all with
// metav1.NamespaceAll, in the order of their namespaces. Kinds that are not defined
// are left out. The cloud is not asked.
func Read(ctx context.Context, client dynamic.Interface, namespace string) ([]Report, error) {
	all, err := ReadAll(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	return all.Reports(nil, time.Now()), nil
}

// ReadAsking is Read, and asks the clouds of those clusters that are not ready.
func ReadAsking(ctx context.Context, client dynamic.Interface, namespace string, cache *look.Cache) ([]Report, error) {
	all, err := ReadAll(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	return all.Reports(all.Ask(ctx, client, cache, false, Sick).Of, time.Now()), nil
}

// ReadAll reads the clusters of a namespace, or of all with metav1.NamespaceAll. Kinds
// that are not defined are left out. The Clusters come first, alone: what else there is counts
// only with one, and the other kinds, side by side, have a connection then.
func ReadAll(ctx context.Context, client dynamic.Interface, namespace string) (Clusters, error) {
	of := resources()
	found, failed := make([][]*unstructured.Unstructured, len(of)), make([]error, len(of))
	read := func(i int) {
		err := list(ctx, client, of[i], namespace, "", func(item *unstructured.Unstructured) { found[i] = append(found[i], item) })
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			failed[i] = fmt.Errorf("listing %s: %w", of[i].Resource, err)
		}
	}
	if read(0); failed[0] != nil || len(found[0]) == 0 {
		return gather(nil), failed[0]
	}
	told := map[string]objects{}
	sortInto(told, clusters, found[0])
	var group errgroup.Group
	group.SetLimit(listsAtOnce)
	group.Go(func() error { warnings(ctx, client, namespace, told); return nil })
	for i := 1; i < len(of); i++ {
		group.Go(func() error { read(i); return nil })
	}
	_ = group.Wait() // the errors are in failed, in the order of the kinds
	if err := cmp.Or(failed...); err != nil {
		return Clusters{}, err
	}
	for i := 1; i < len(of); i++ {
		sortInto(told, of[i], found[i])
	}
	return gather(told), nil
}

// sortInto puts objects of a kind to those of their namespaces.
func sortInto(into map[string]objects, kind schema.GroupVersionResource, items []*unstructured.Unstructured) {
	for _, item := range items {
		if into[item.GetNamespace()] == nil {
			into[item.GetNamespace()] = objects{}
		}
		into[item.GetNamespace()][kind] = append(into[item.GetNamespace()][kind], item)
	}
}

// Exists reports whether a Cluster with the name exists; false if Cluster API is not
// installed.
func Exists(ctx context.Context, client dynamic.Interface, namespace, name string) (bool, error) {
	_, err := client.Resource(clusters).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	return true, nil
}

// settle is how long to wait for more events after one.
const settle = 200 * time.Millisecond

// resync is how often everything is read again, as in controller-runtime. Without it
// tests with a fake clock would have no channel to wait on.
const resync = 10 * time.Hour

// Await watches a cluster until done returns true for a report, and returns that
// report. It fails early with the cause if a part cannot become ready, and at the end
// of ctx with what was missing; both errors contain the conditions of the part and its
// last events. progress receives every report in which the part that is waited for,
// or the number of ready machines and addons, changed.
func Await(ctx context.Context, client dynamic.Interface, namespace, name string, done func(Report) bool, progress func(Report)) (Report, error) {
	return await(ctx, client, namespace, name, goal{done: done, ends: func(p Part) bool { return p.Hopeless }, also: []string{heldBack, paused}}, progress)
}

// AwaitControlPlane is Await for the control plane alone: it ignores workers that
// cannot become ready.
func AwaitControlPlane(ctx context.Context, client dynamic.Interface, namespace, name string, progress func(Report)) (Report, error) {
	return await(ctx, client, namespace, name, goal{done: Report.ControlPlaneReady, of: Report.OnlyControlPlane, ends: func(p Part) bool { return p.Hopeless }, also: []string{paused}}, progress)
}

// goal is what is waited for.
type goal struct {
	done func(Report) bool
	// of selects the relevant part of a report; nil means all.
	of func(Report) Report
	// ends reports whether waiting for the part is hopeless.
	ends func(Part) bool
	// also are reasons that end the wait besides blocks, whatever part is waited for.
	also []string
	// ask returns what the cluster's cloud said; nil means with the cluster's credential.
	ask func(context.Context, objects) *cause.Cloud
}

// vain returns why waiting is hopeless: because of the part that is waited for, or of what
// keeps every part from becoming ready, or from being deleted.
func (g goal) vain(r Report, waiting Part) (Part, bool) {
	if g.ends(waiting) {
		return waiting, true
	}
	for _, f := range r.Findings {
		if (slices.Contains(blocks(), f.Reason) || slices.Contains(g.also, f.Reason)) && f.Ending != cause.Passing && !apart(f) {
			return Part{Kind: f.Object.Kind, Name: f.Object.Name, Cause: f.Cause, Hopeless: true, fix: f.Fix}, true
		}
	}
	return Part{}, false
}

// heldBack is the reason of a health check that may replace no machine: those that it would
// have replaced stay as they are, and no part says so.
const heldBack = "repair-held-back"

// paused is the reason of a cluster that no controller acts on. What was well stays so, and no
// part says that it waits.
const paused = "paused"

// apart reports whether a finding is of a part that somebody paused by itself: the others go on.
func apart(f cause.Finding) bool { return f.Reason == paused && f.Object.Kind != "Cluster" }

// blocks are the reasons for which nothing of a cluster can be created or deleted, and
// which do not end by themselves. A Keystone that is down comes back.
func blocks() []string {
	return []string{"controller-down", "credential-malformed", "credential-missing", "credential-expired", "credential-revoked", "credential-refused", "credential-without-role", "keystone-absent", "cloud-ca-changed"}
}

// waiting returns the part of a report that is waited for.
func (g goal) waiting(r Report) Part {
	if g.of != nil {
		r = g.of(r)
	}
	part, _ := r.Waiting()
	return part
}

func await(ctx context.Context, client dynamic.Interface, namespace, name string, g goal, progress func(Report)) (Report, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	f := &follower{changed: make(chan struct{}, 1), listers: map[schema.GroupVersionResource]cache.GenericLister{}, namespace: namespace}
	ask := g.ask
	if ask == nil {
		ask = newAsker(client, namespace, name).said
	}
	heard, controllers := &hearer{client: client, namespace: namespace}, &overseer{client: client}
	if err := f.start(watching, client); err != nil {
		return Report{}, err
	}
	var hopeless vain.Watch
	said := ""
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		known := f.read()
		heard.add(ctx, known)
		report := judge(known, name, Known{Cloud: ask(ctx, known), Controllers: controllers.read(ctx)}, time.Now())
		report.Namespace = namespace
		if g.done(report) {
			return report, nil
		}
		part := g.waiting(report)
		if text := report.Progress(); text != said {
			said = text
			progress(report)
		}
		if why, found := g.vain(report, part); hopeless.Over(found) {
			return report, refusal(why, details(ctx, client, namespace, f.read(), why))
		}
		select {
		case <-ctx.Done():
			return report, late(ctx, part, details(context.WithoutCancel(ctx), client, namespace, f.read(), part))
		case <-f.changed:
			time.Sleep(settle)
		case <-tick.C:
		}
	}
}

func refusal(p Part, details string) error {
	return fault.New(p.Kind+" "+p.Name, errors.New(p.Cause+details), cmp.Or(p.fix, "fix the cause")+", then run the same command again to resume")
}

func late(ctx context.Context, p Part, details string) error {
	err := context.Cause(ctx)
	if p.Kind == "" {
		return err
	}
	what := p.State
	if p.Cause != "" {
		what += ": " + p.Cause
	}
	return fault.New(p.Kind+" "+p.Name, fmt.Errorf("%w; last seen: %s%s", err, what, details), "see the details with slipway status")
}

// hearEvery is how often the events of a namespace are read while a cluster is waited for.
const hearEvery = 10 * time.Second

// hearer reads events while a cluster is waited for: CAPO writes some failures nowhere else.
type hearer struct {
	client    dynamic.Interface
	namespace string
	at        time.Time
	events    []*unstructured.Unstructured
}

// add adds the events to what is known.
func (h *hearer) add(ctx context.Context, known objects) {
	if h.at.IsZero() || time.Since(h.at) >= hearEvery {
		fresh := map[string]objects{h.namespace: {clusters: known[clusters]}}
		warnings(ctx, h.client, h.namespace, fresh)
		h.at, h.events = time.Now(), fresh[h.namespace][eventKind]
	}
	known[eventKind] = h.events
}

// follower caches the objects of a namespace with watches.
type follower struct {
	namespace string
	changed   chan struct{}
	listers   map[schema.GroupVersionResource]cache.GenericLister
}

func (f *follower) start(ctx context.Context, client dynamic.Interface) error {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, resync, f.namespace, nil)
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { f.wake() }, UpdateFunc: func(any, any) { f.wake() }, DeleteFunc: func(any) { f.wake() }}
	for _, kind := range resources() {
		// A kind that is not defined, as the addons' on a foreign cluster, would
		// never synchronise.
		if _, err := client.Resource(kind).Namespace(f.namespace).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("listing %s: %w", kind.Resource, err)
		}
		informer := factory.ForResource(kind)
		if _, err := informer.Informer().AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching %s: %w", kind.Resource, err)
		}
		f.listers[kind] = informer.Lister()
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watching %s: %w", kind.Resource, context.Cause(ctx))
		}
	}
	return nil
}

func (f *follower) wake() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *follower) read() objects {
	o := objects{}
	for kind, lister := range f.listers {
		list, _ := lister.ByNamespace(f.namespace).List(labels.Everything()) // a cache does not fail
		for _, item := range list {
			if object, ok := item.(*unstructured.Unstructured); ok {
				o[kind] = append(o[kind], object)
			}
		}
	}
	return o
}
