package release

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

func controlPlaneTaint() corev1.Taint {
	return corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
}

func node(labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
}

// pod is one of app=web that the scheduler could not place.
func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", Labels: map[string]string{"app": "web"}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}}
	for _, f := range change {
		f(p)
	}
	return p
}

func info(kind schema.GroupVersionKind, name string, object runtime.Object) *resource.Info {
	return &resource.Info{Namespace: "ns", Name: name, Object: object, Mapping: &meta.RESTMapping{GroupVersionKind: kind}}
}

func deploymentInfo() *resource.Info {
	return info(appsv1.SchemeGroupVersion.WithKind("Deployment"), "web", &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}})
}

func kind(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: name}
}

func TestWithoutWorkers(t *testing.T) {
	t.Parallel()
	tolerating := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists}}
	}
	job := func(p *corev1.Pod) { p.Name, p.Labels = "once-1", map[string]string{batchv1.JobNameLabel: "once"} }
	placed := func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }
	starting := corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}
	claim, service := info(kind("PersistentVolumeClaim"), "data", nil), info(kind("Service"), "web", nil)
	for name, test := range map[string]struct {
		node       *corev1.Node
		pods       []*corev1.Pod
		left       kube.ResourceList
		workerless bool
		want       []string
	}{
		"a deployment":                 {node(nil, controlPlaneTaint()), []*corev1.Pod{pod()}, kube.ResourceList{deploymentInfo()}, true, []string{"Deployment ns/web"}},
		"with claim and service":       {node(nil, controlPlaneTaint()), []*corev1.Pod{pod()}, kube.ResourceList{claim, deploymentInfo(), service}, true, []string{"Deployment ns/web"}},
		"a job":                        {node(nil, controlPlaneTaint()), []*corev1.Pod{pod(job)}, kube.ResourceList{info(kind("Job"), "once", nil)}, true, []string{"Job ns/once"}},
		"a pod":                        {node(nil, controlPlaneTaint()), []*corev1.Pod{pod()}, kube.ResourceList{info(kind("Pod"), "web-1", nil)}, true, []string{"Pod ns/web-1"}},
		"selects another node":         {node(map[string]string{"disk": "hdd"}), []*corev1.Pod{pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })}, kube.ResourceList{deploymentInfo()}, true, []string{"Deployment ns/web"}},
		"workers are to come":          {node(nil, controlPlaneTaint()), []*corev1.Pod{pod()}, kube.ResourceList{deploymentInfo()}, false, nil},
		"no pods yet":                  {node(nil, controlPlaneTaint()), nil, kube.ResourceList{deploymentInfo()}, true, nil},
		"a pod that is placed":         {node(nil, controlPlaneTaint()), []*corev1.Pod{pod(placed)}, kube.ResourceList{deploymentInfo()}, true, nil},
		"may be on the control plane":  {node(nil, controlPlaneTaint()), []*corev1.Pod{pod(tolerating)}, kube.ResourceList{deploymentInfo()}, true, nil},
		"a node that is not ready yet": {node(nil, controlPlaneTaint(), starting), []*corev1.Pod{pod(tolerating)}, kube.ResourceList{deploymentInfo()}, true, nil},
		"nodes for everything":         {node(nil), []*corev1.Pod{pod()}, kube.ResourceList{deploymentInfo()}, true, nil},
		"something else is left":       {node(nil, controlPlaneTaint()), []*corev1.Pod{pod()}, kube.ResourceList{deploymentInfo(), info(kind("Job"), "once", nil)}, true, nil},
		"a service alone":              {node(nil, controlPlaneTaint()), nil, kube.ResourceList{service}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []runtime.Object{test.node}
			for _, p := range test.pods {
				objects = append(objects, p)
			}
			w := &waiter{typed: fake.NewClientset(objects...), workerless: func(context.Context) bool { return test.workerless }}
			if got := w.withoutWorkers(t.Context(), test.left); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestWaitsEndWithoutWorkers: what is applied is a release all the same; a hook
// that cannot run is an error, for what comes after it is not there.
func TestWaitsEndWithoutWorkers(t *testing.T) {
	t.Parallel()
	clusters := target.NewClusters(time.Second, 1, 1)
	place := clusters.Place(types.NamespacedName{Name: "c"})
	if err := place.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	typed := fake.NewClientset(node(nil, controlPlaneTaint()), pod())
	w := &waiter{ctx: t.Context(), place: place, typed: typed, progress: func(string) {}, forget: func() {}, workerless: func(context.Context) bool { return true }}
	web := kube.ResourceList{info(kind("Pod"), "web-1", pod())}
	if err := w.WaitWithJobs(web, time.Minute); err != nil || !slices.Equal(w.forWorkers, []string{"Pod ns/web-1"}) {
		t.Errorf("waiting for %q: %v", w.forWorkers, err)
	}
	w.workerless = nil
	var late *TimeoutError
	if err := w.WaitWithJobs(web, time.Millisecond); !errors.As(err, &late) || len(w.forWorkers) > 0 {
		t.Errorf("with workers: %q, %v", w.forWorkers, err)
	}
	if kind := KindOf(classify(&WorkersError{[]string{"Job a/b"}}, true)); kind != WorkersMissing || kind.Permanent() {
		t.Errorf("a hook's error is %s", kind)
	}
}
