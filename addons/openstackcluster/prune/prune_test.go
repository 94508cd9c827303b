package prune

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// template is one of the chart's, an hour old.
func template(kind int, name, cluster string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(templateKinds()[kind])
	object.SetNamespace("clusters")
	object.SetName(name)
	object.SetUID(types.UID(name))
	object.SetLabels(map[string]string{"capi.stackhpc.com/cluster": cluster})
	object.SetAnnotations(map[string]string{"capi.stackhpc.com/template-checksum": "00"})
	object.SetCreationTimestamp(metav1.NewTime(noon.Add(-time.Hour)))
	return object
}

func clone(kind int, of string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(cloneKinds()[kind])
	object.SetNamespace("clusters")
	object.SetName("machine-of-" + of)
	object.SetAnnotations(map[string]string{clusterv1.TemplateClonedFromNameAnnotation: of})
	return object
}

func machineSpec(infrastructureName, bootstrapName string) clusterv1.MachineSpec {
	return clusterv1.MachineSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Kind: "OpenStackMachineTemplate", Name: infrastructureName},
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: bootstrap, Kind: "KubeadmConfigTemplate", Name: bootstrapName}},
	}
}

// world is a cluster c1 in use: a control plane, a group, and the set that the
// group had before.
func world() []client.Object {
	in := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "clusters", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}
	}
	plane := &controlplanev1.KubeadmControlPlane{ObjectMeta: in("c1-control-plane")}
	plane.Spec.MachineTemplate.Spec.InfrastructureRef = machineSpec("cp-new", "").InfrastructureRef
	deployment := &clusterv1.MachineDeployment{ObjectMeta: in("c1-md-0")}
	deployment.Spec.ClusterName, deployment.Spec.Template.Spec = "c1", machineSpec("md-new", "boot-new")
	set := &clusterv1.MachineSet{ObjectMeta: in("c1-md-0-old")}
	set.Spec.ClusterName, set.Spec.Template.Spec = "c1", machineSpec("md-old", "boot-old")
	cluster := &clusterv1.Cluster{ObjectMeta: in("c1")}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: "c1-control-plane"}
	foreign := template(0, "foreign", "c1")
	foreign.SetAnnotations(nil)
	young := template(0, "md-young", "c1")
	young.SetCreationTimestamp(metav1.NewTime(noon.Add(-time.Minute)))
	return []client.Object{cluster, plane, deployment, set,
		template(0, "cp-new", "c1"), template(0, "cp-old", "c1"), template(0, "cp-oldest", "c1"), clone(0, "cp-old"),
		template(0, "md-new", "c1"), template(0, "md-old", "c1"), template(0, "md-oldest", "c1"), young, foreign, template(0, "md-other", "c2"),
		template(1, "boot-new", "c1"), template(1, "boot-old", "c1"), template(1, "boot-oldest", "c1"), template(1, "boot-machine", "c1"), clone(1, "boot-machine"),
	}
}

// reconcileWorld runs the pruner once and lists the templates that are left.
func reconcileWorld(t *testing.T, objects []client.Object, funcs interceptor.Funcs) (left []string, result reconcile.Result, err error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range append(templateKinds(), cloneKinds()...) {
		scheme.AddKnownTypeWithName(kind, &metav1.PartialObjectMetadata{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &metav1.PartialObjectMetadataList{})
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
	r := &reconciler{client: c, events: record.NewFakeRecorder(10), now: func() time.Time { return noon }}
	result, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "clusters", Name: "c1"}})
	for _, kind := range templateKinds() {
		list, listErr := r.list(t.Context(), "clusters", kind)
		if listErr != nil {
			t.Fatal(listErr)
		}
		for _, item := range list.Items {
			left = append(left, item.Name)
		}
	}
	slices.Sort(left)
	return left, result, err
}

// TestPrune deletes what nothing refers to: neither what makes machines, nor a
// machine, nor Helm in a moment. What others made is left.
//
// proves: F75
func TestPrune(t *testing.T) {
	t.Parallel()
	left, result, err := reconcileWorld(t, world(), interceptor.Funcs{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"boot-machine", "boot-new", "boot-old", "cp-new", "cp-old", "foreign", "md-new", "md-old", "md-other", "md-young"}
	if !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	if result.RequeueAfter != Grace-time.Minute {
		t.Errorf("the young one is looked at again after %v", result.RequeueAfter)
	}
}

// TestKeepAll deletes nothing of clusters that are paused or going, and nothing
// where it is not known what is used.
func TestKeepAll(t *testing.T) {
	t.Parallel()
	templates := 0
	for _, object := range world() {
		if _, annotated := object.GetLabels()["capi.stackhpc.com/cluster"]; annotated {
			templates++
		}
	}
	for name, c := range map[string]struct {
		change func([]client.Object) []client.Object
		again  time.Duration
	}{
		"paused": {func(o []client.Object) []client.Object {
			o[0].(*clusterv1.Cluster).Spec.Paused = ptr.To(true)
			return o
		}, 0},
		"deleted": {func(o []client.Object) []client.Object {
			o[0].SetDeletionTimestamp(ptr.To(metav1.NewTime(noon)))
			o[0].SetFinalizers([]string{"x/y"})
			return o
		}, 0},
		"no cluster":       {func(o []client.Object) []client.Object { return o[1:] }, 0},
		"no control plane": {func(o []client.Object) []client.Object { return slices.Delete(o, 1, 2) }, Grace},
	} {
		left, result, err := reconcileWorld(t, c.change(world()), interceptor.Funcs{})
		if err != nil || result.RequeueAfter != c.again {
			t.Errorf("%s: looked at again after %v, %v", name, result.RequeueAfter, err)
		}
		if len(left) != templates {
			t.Errorf("%s: left are %v", name, left)
		}
	}
}

// TestControlPlaneNotRead deletes nothing and tries again at once.
func TestControlPlaneNotRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	left, _, err := reconcileWorld(t, world(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, plane := o.(*controlplanev1.KubeadmControlPlane); plane {
				return broken
			}
			return c.Get(ctx, key, o, options...)
		}})
	if !errors.Is(err, broken) || !slices.Contains(left, "cp-oldest") {
		t.Errorf("error %v, left are %v", err, left)
	}
}

// TestRefused tells of a deletion that is refused, and tries it again.
func TestRefused(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	_, _, err := reconcileWorld(t, world(), interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return refused }})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
}
