package magnum

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// players is how many statuses the stand-in writes side by side.
const players = 4

// clusterAPI stands in for Cluster API, its provider and the addon provider:
// whatever is asked for is there at once, each machine with its node.
type clusterAPI struct {
	t     *testing.T
	kube  client.Client
	queue workqueue.TypedInterface[part]
	kept  cache.Cache
	// says is what it says of each kind that it plays.
	says map[schema.GroupVersionKind]func(*unstructured.Unstructured) map[string]any
	// before, if set, makes what a cluster has before it is said to be there.
	before func(ctx context.Context, cluster *unstructured.Unstructured) error
}

// part is an object that the stand-in has to say something of.
type part struct {
	kind schema.GroupVersionKind
	key  client.ObjectKey
}

func kindOf(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

func machineKind() schema.GroupVersionKind { return kindOf("cluster.x-k8s.io", "v1beta2", "Machine") }

func releaseKind() schema.GroupVersionKind {
	return kindOf(addonsv1alpha1.Group, "v1alpha1", "HelmRelease")
}

func manifestsKind() schema.GroupVersionKind {
	return kindOf(addonsv1alpha1.Group, "v1alpha1", "Manifests")
}

// statuses are what the stand-in says of each kind.
func statuses() map[schema.GroupVersionKind]func(*unstructured.Unstructured) map[string]any {
	deployed := func(*unstructured.Unstructured) map[string]any { return map[string]any{"phase": "Deployed"} }
	return map[schema.GroupVersionKind]func(*unstructured.Unstructured) map[string]any{
		kindOf("cluster.x-k8s.io", "v1beta2", "Cluster"): func(*unstructured.Unstructured) map[string]any {
			return map[string]any{"conditions": conditions("Available", "InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized")}
		},
		kindOf("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane"): func(o *unstructured.Unstructured) map[string]any {
			status := ready(o)
			status["version"], _, _ = unstructured.NestedString(o.Object, "spec", "version")
			status["conditions"] = conditions("Available", "MachinesReady", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy")
			return status
		},
		kindOf("cluster.x-k8s.io", "v1beta2", "MachineDeployment"): func(o *unstructured.Unstructured) map[string]any {
			status := ready(o)
			status["phase"] = "Running"
			return status
		},
		machineKind(): func(o *unstructured.Unstructured) map[string]any {
			return map[string]any{"phase": "Running", "nodeRef": map[string]any{"name": o.GetName()}, "conditions": conditions("Available", "Ready", "NodeReady"),
				"addresses": []any{map[string]any{"type": "InternalIP", "address": "10.0.0.5"}}}
		},
		releaseKind():   deployed,
		manifestsKind(): deployed,
	}
}

// ready is the part of a status that says that all replicas are as specified.
func ready(o *unstructured.Unstructured) map[string]any {
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return map[string]any{"observedGeneration": o.GetGeneration(), "replicas": replicas, "readyReplicas": replicas, "upToDateReplicas": replicas}
}

func conditions(types ...string) []any {
	all := make([]any, len(types))
	for i, kind := range types {
		all[i] = map[string]any{"type": kind, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	return all
}

// play starts the stand-in; it ends with the test.
func (p *clusterAPI) play(ctx context.Context) {
	p.queue = workqueue.NewTyped[part]()
	go func() {
		if err := p.kept.Start(ctx); err != nil {
			p.t.Error(err)
		}
	}()
	context.AfterFunc(ctx, p.queue.ShutDown)
	for kind := range p.says {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		informer, err := p.kept.GetInformer(ctx, o)
		if err != nil {
			p.t.Fatal(err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { p.queue.Add(part{kind, client.ObjectKeyFromObject(o.(client.Object))}) },
			UpdateFunc: func(_, o any) { p.queue.Add(part{kind, client.ObjectKeyFromObject(o.(client.Object))}) },
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	for range players {
		go p.work(ctx)
	}
}

func (p *clusterAPI) work(ctx context.Context) {
	for {
		next, ended := p.queue.Get()
		if ended {
			return
		}
		if err := p.say(ctx, next); err != nil && !apierrors.IsConflict(err) && !errors.Is(err, context.Canceled) {
			p.t.Error(err)
		}
		p.queue.Done(next)
	}
}

// say writes the status of an object once for each generation.
func (p *clusterAPI) say(ctx context.Context, next part) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(next.kind)
	if err := p.kept.Get(ctx, next.key, o); err != nil {
		return client.IgnoreNotFound(err)
	}
	seen, counted, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	said, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "phase")
	had, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	if counted && seen == o.GetGeneration() || !counted && (said != nil || len(had) > 0) {
		return nil
	}
	if err := p.machine(ctx, o); err != nil {
		return err
	}
	if p.before != nil && o.GetKind() == "Cluster" {
		if err := p.before(ctx, o); err != nil {
			return err
		}
	}
	o = o.DeepCopy()
	o.Object["status"] = p.says[next.kind](o)
	return p.kube.Status().Update(ctx, o)
}

// machine makes the one machine of a control plane or of a group.
func (p *clusterAPI) machine(ctx context.Context, owner *unstructured.Unstructured) error {
	labels := map[string]string{}
	switch owner.GetKind() {
	case "KubeadmControlPlane":
		labels["cluster.x-k8s.io/control-plane"] = ""
	case "MachineDeployment":
		labels["cluster.x-k8s.io/deployment-name"] = owner.GetName()
	default:
		return nil
	}
	stack := owner.GetLabels()[observe.LabelStack]
	labels[v1alpha1.LabelStack] = stack
	m := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterName": stack, "bootstrap": map[string]any{"dataSecretName": owner.GetName()},
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": owner.GetName()}}}}
	m.SetGroupVersionKind(machineKind())
	m.SetNamespace(owner.GetNamespace())
	m.SetName(owner.GetName() + "-1")
	m.SetLabels(labels)
	if err := p.kube.Create(ctx, m); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
