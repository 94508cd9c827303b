package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// manager is a Deployment with one pod that is as edit leaves it.
func manager(edit func(*corev1.Pod)) []runtime.Object {
	labels := map[string]string{"app": "manager"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "capi-system", Name: "manager"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}}
	p := pod(5*time.Minute, edit)
	p.Namespace, p.Name, p.Labels, p.UID = "capi-system", "manager-x", labels, "x"
	return []runtime.Object{d, p}
}

// TestAWaitEndsWithTheFailingPod wants a wait to end early where waiting helps
// nothing, and else in time; both name the pod, with the end of its log. No
// kubelet is there to write logs: they are what the library's own fake has.
//
// proves: S-26
func TestAWaitEndsWithTheFailingPod(t *testing.T) {
	t.Parallel()
	wanted := []types.NamespacedName{{Namespace: "capi-system", Name: "manager"}}
	for name, test := range map[string]struct {
		objects []runtime.Object
		// then is what becomes of the pod while it is waited for.
		then   func(*corev1.Pod)
		within time.Duration
		want   []string
	}{
		"hopeless": {manager(waiting("CrashLoopBackOff", "back-off", 1, 1)), waiting("CrashLoopBackOff", "back-off", 5, 1), time.Hour,
			[]string{"Deployment capi-system/manager", "Pod capi-system/manager-x, container manager: CrashLoopBackOff", "exit code 1", "last lines of its log:\nfake logs"}},
		"late": {manager(waiting("CrashLoopBackOff", "back-off", 1, 1)), nil, 3 * time.Second,
			[]string{"not in time", "Deployment capi-system/manager", "Pod capi-system/manager-x, container manager: CrashLoopBackOff", "last lines of its log:\nfake logs"}},
		"not there": {nil, nil, 3 * time.Second, []string{"not in time", "Deployment capi-system/manager: does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(t.Context(), test.within, errors.New("not in time"))
			defer cancel()
			said := ""
			client := fake.NewClientset(test.objects...)
			err := (&Cluster{Typed: client}).WaitAvailable(ctx, wanted, func(text string) {
				if said = text; test.then == nil {
					return
				}
				changed := test.objects[1].(*corev1.Pod).DeepCopy()
				test.then(changed)
				if _, err := client.CoreV1().Pods(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
			})
			if asked := logsAsked(client); len(test.objects) > 0 && (len(asked) != 1 || asked[0].Container != "manager" || !asked[0].Previous || *asked[0].TailLines != 10) {
				t.Errorf("asked for logs: %+v", asked)
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
			if fault.Remedy(err) == "" || said != "0 of 1 available; waiting for manager" {
				t.Errorf("remedy %q; said %q", fault.Remedy(err), said)
			}
		})
	}
}

// TestAPodThatHasCrashedBeforeIsStartedAgain: whoever runs a command again has fixed the cause, and was
// told of the same crash at once. A pod that crashes less often is left alone.
func TestAPodThatHasCrashedBeforeIsStartedAgain(t *testing.T) {
	t.Parallel()
	wanted := []types.NamespacedName{{Namespace: "capi-system", Name: "manager"}}
	for name, test := range map[string]struct {
		pod  func(*corev1.Pod)
		left int
		want string
	}{
		"often":              {waiting("CrashLoopBackOff", "back-off", 5, 1), 0, "Deployment capi-system/manager: is not available yet"},
		"once":               {waiting("CrashLoopBackOff", "back-off", 1, 1), 1, "CrashLoopBackOff"},
		"for another reason": {waiting("ImagePullBackOff", "no such image", 5, 1), 1, "ImagePullBackOff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("not in time"))
			defer cancel()
			client := fake.NewClientset(manager(test.pod)...)
			err := (&Cluster{Typed: client}).WaitAvailable(ctx, wanted, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("no %q in\n%v", test.want, err)
			}
			left, err := client.CoreV1().Pods("capi-system").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(left.Items) != test.left {
				t.Errorf("%d pods are left, want %d: %v", len(left.Items), test.left, err)
			}
		})
	}
}

// logsAsked are the options of the requests for logs.
func logsAsked(client *fake.Clientset) (asked []*corev1.PodLogOptions) {
	for _, action := range client.Actions() {
		if action.GetSubresource() == "log" {
			asked = append(asked, action.(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions))
		}
	}
	return asked
}

// TestWhereToLook: the pods may be on the seed or on the management cluster, where the seed's
// kubectl does not show them.
func TestWhereToLook(t *testing.T) {
	t.Parallel()
	err := (&waiter{}).explain(t.Context(), types.NamespacedName{Namespace: "capo-system", Name: "capo"}, Cause{Object: "Pod capo-system/capo-1", Reason: "Pending"})
	for _, want := range []string{"kubectl -n capo-system describe pods", "slipway ssh", "slipway kubeconfig"} {
		if !strings.Contains(fault.Remedy(err), want) {
			t.Errorf("no %q in %q", want, fault.Remedy(err))
		}
	}
}
