package restore

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// soon is how long a wait may last once it is known to be in vain.
const soon = 45 * time.Second

// hook is a webhook's Deployment with a pod that waits for a reason and ended so often.
func hook(reason string, ended int32) *kube.Cluster {
	labels := map[string]string{"app": "capo"}
	return &kube.Cluster{Typed: fake.NewClientset(
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "capo-system", Name: "capo"}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "capo-system", Name: "capo-x", Labels: labels, CreationTimestamp: metav1.NewTime(time.Now())},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "manager", RestartCount: ended, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "back-off"}}}}}},
	)}
}

// TestARestoredObjectEndsWithItsCause: a refusal at once, a webhook whose program cannot run
// soon; what passes, such as a program that starts, is waited for.
func TestARestoredObjectEndsWithItsCause(t *testing.T) {
	t.Parallel()
	clusters := schema.GroupResource{Group: "cluster.x-k8s.io", Resource: "clusters"}
	dead := apierrors.NewInternalError(errors.New(`failed calling webhook "default.cluster": failed to call webhook: Post "https://capo-webhook.capo-system.svc:443/x": connect: connection refused`))
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, "post", clusters, "shop", "404 page not found", 0, true)
	for name, test := range map[string]struct {
		reason string
		ended  int32
		err    error
		within time.Duration
		says   string
	}{
		"a refusal":              {"ContainerCreating", 0, apierrors.NewForbidden(clusters, "shop", errors.New("denied")), time.Second, "denied"},
		"a webhook that cannot":  {"CrashLoopBackOff", 9, dead, soon, "its webhook does not answer"},
		"a webhook that starts":  {"ContainerCreating", 0, dead, 0, "failed calling webhook"},
		"a kind known elsewhere": {"ContainerCreating", 0, unserved, 0, "could not find the requested resource"},
		"an object that is gone": {"ContainerCreating", 0, apierrors.NewNotFound(clusters, "shop"), time.Second, "not found"},
		"an etcd that elects":    {"ContainerCreating", 0, apierrors.NewServiceUnavailable("no leader"), 0, "no leader"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				err := patiently(t.Context(), hook(test.reason, test.ended), func() error { return test.err })
				took := time.Since(begun)
				if err == nil || !strings.Contains(err.Error(), test.says) || test.within > 0 && took > test.within || test.within == 0 && took < patience {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// TestARefusalSaysWhereToLook: slipway logs has the journal of the seed, and objects are restored
// on the management cluster.
func TestARefusalSaysWhereToLook(t *testing.T) {
	t.Parallel()
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Cluster", "metadata": map[string]any{"namespace": "shop", "name": "shop"}}}
	for name, err := range map[string]error{
		"a webhook":      apierrors.NewInternalError(errors.New("failed calling webhook: connection refused")),
		"anything else":  apierrors.NewInternalError(errors.New("etcd has no space")),
		"no API at all":  errors.New("connection refused"),
		"an object gone": apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, "shop"),
	} {
		if fix := fault.Remedy(refused(o, err)); !strings.Contains(fix, "slipway why") || strings.Contains(fix, "slipway logs") {
			t.Errorf("%s: %q", name, fix)
		}
	}
}

// TestAControllerThatDoesNotStopEndsTheWait: its kubelet is gone, and its pod overdue.
func TestAControllerThatDoesNotStopEndsTheWait(t *testing.T) {
	t.Parallel()
	d := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"namespace": "orc-system", "name": "orc"},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "orc"}}}}}
	const grace = 30 * time.Second
	for name, ends := range map[string]bool{"a lost node": false, "a pod that ends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				over := metav1.NewTime(time.Now().Add(grace)) // what Kubernetes writes: when the grace is over
				client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "orc-system", Name: "orc-x", Labels: map[string]string{"app": "orc"}, DeletionTimestamp: &over, Finalizers: []string{"x"}},
					Spec: corev1.PodSpec{NodeName: "lost"}})
				ctx, cancel := context.WithTimeout(t.Context(), stopTime)
				defer cancel()
				if ends {
					time.AfterFunc(20*time.Second, func() {
						_ = client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "orc-system", "orc-x")
					})
				}
				begun := time.Now()
				err := ended(ctx, &kube.Cluster{Typed: client}, d)
				switch took := time.Since(begun); {
				case ends && (err != nil || took > 25*time.Second):
					t.Errorf("after %s: %v", took, err)
				case !ends && (err == nil || took > grace+soon || !strings.Contains(err.Error(), "pod orc-x does not end: the kubelet of node lost")):
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}
