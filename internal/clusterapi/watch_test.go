package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

const in = "clusters-of-c"

// parent is a Cluster API that holds objects and does nothing by itself.
func parent(t *testing.T, text string) *fake.FakeDynamicClient {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{corev1.SchemeGroupVersion.WithResource("events"): "EventList", deployments: "DeploymentList", podKind: "PodList"}
	for _, kind := range resources() {
		lists[kind] = kind.Resource + "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	for kind, list := range namespace(t, text) {
		for _, object := range list {
			object.SetNamespace(in)
			object.SetGroupVersionKind(kind.GroupVersion().WithKind(strings.TrimSuffix(kind.Resource, "s")))
			create(t, client, kind, object)
		}
	}
	return client
}

func create(t *testing.T, client *fake.FakeDynamicClient, kind schema.GroupVersionResource, object *unstructured.Unstructured) {
	t.Helper()
	if _, err := client.Resource(kind).Namespace(in).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// say is an event about an object.
func say(t *testing.T, client *fake.FakeDynamicClient, about, reason, message string, at time.Time) {
	t.Helper()
	create(t, client, corev1.SchemeGroupVersion.WithResource("events"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": strings.ToLower(about + "." + reason)}, "reason": reason, "message": message,
		"involvedObject": map[string]any{"kind": "OpenStackMachine", "name": about}, "lastTimestamp": at.UTC().Format(time.RFC3339)}})
}

const twoMachines = cluster + network + `machinedeployments
metadata: {name: c-md, generation: 1, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {replicas: 2}
status: {observedGeneration: 1, replicas: 2, readyReplicas: 0, upToDateReplicas: 2}
---
machines
metadata: {name: c-1, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {clusterName: c, infrastructureRef: {name: c-1}}
status: {phase: Provisioning, conditions: [{type: Ready, status: "False", reason: NotReady, message: "* Infrastructure: waiting"}]}
---
machines
metadata: {name: c-2, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {clusterName: c, infrastructureRef: {name: c-2}}
status: {phase: Provisioning, conditions: [{type: Ready, status: "False", reason: NotReady, message: "* Infrastructure: waiting"}]}
---
openstackmachines
metadata: {name: c-1}
status: {}
---
openstackmachines
metadata: {name: c-2}
status: {}
`

// proves: F34
func TestChangesAreToldAndAFailureHasItsConditionsAndEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := parent(t, twoMachines)
		var said []string
		begun := time.Now()
		go func() {
			set := func(kind schema.GroupVersionResource, name string, status map[string]any) {
				object, err := client.Resource(kind).Namespace(in).Get(t.Context(), name, metav1.GetOptions{})
				if err == nil {
					object.Object["status"] = status
					_, err = client.Resource(kind).Namespace(in).Update(t.Context(), object, metav1.UpdateOptions{})
				}
				if err != nil {
					t.Error(err)
				}
			}
			ready := func(message string) []any {
				if message == "" {
					return []any{map[string]any{"type": "Ready", "status": "True"}}
				}
				return []any{map[string]any{"type": "Ready", "status": "False", "reason": "InstanceCreateFailed", "message": message}}
			}
			time.Sleep(time.Minute)
			set(machines, "c-2", map[string]any{"phase": "Running", "conditions": ready("")})
			time.Sleep(time.Minute)
			say(t, client, "c-1", "Late", "server c-1: No valid host was found", time.Now())
			say(t, client, "c-1", "Early", "creating server c-1", begun)
			say(t, client, "c-2", "Other", "not about it", begun)
			set(openStackMachines, "c-1", map[string]any{"conditions": ready("No valid host was found")})
		}()
		_, err := Await(t.Context(), client, in, "c", Report.Ready, func(r Report) {
			said = append(said, fmt.Sprintf("%s %s", time.Since(begun).Round(time.Second), r.Progress()))
		})

		want := []string{"0s 0 of 2 machines; Machine c-1: Provisioning: Infrastructure: waiting",
			"1m0s 1 of 2 machines; Machine c-1: Provisioning: Infrastructure: waiting",
			"2m0s 1 of 2 machines; Machine c-1: Provisioning: No valid host was found"}
		if strings.Join(said, "\n") != strings.Join(want, "\n") {
			t.Errorf("said\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		if took := time.Since(begun); took < 2*time.Minute+vain.Patience || took > 2*time.Minute+vain.Patience+10*time.Second {
			t.Errorf("ended after %s", took)
		}
		told := fmt.Sprintf(`Machine c-1: No valid host was found
conditions of machine c-1:
  Ready False: NotReady: Infrastructure: waiting
conditions of openstackmachine c-1:
  Ready False: InstanceCreateFailed: No valid host was found
last events:
  %s OpenStackMachine Early: creating server c-1
  %s OpenStackMachine Late: server c-1: No valid host was found`, begun.UTC().Format("15:04:05"), begun.Add(2*time.Minute).UTC().Format("15:04:05"))
		if err == nil || err.Error() != told {
			t.Errorf("told\n%v\nwant\n%s", err, told)
		}
	})
}

// proves: F34
func TestTheEndOfTheTimeNamesWhatWasMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := parent(t, twoMachines)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Minute, errors.New("it is not ready after 90m"))
		defer cancel()
		_, err := Await(ctx, client, in, "c", Report.Ready, func(Report) {})
		var f *fault.Fault
		if !errors.As(err, &f) || f.Object != "Machine c-1" || !strings.HasPrefix(f.Err.Error(), "it is not ready after 90m; last seen: Provisioning: Infrastructure: waiting\nconditions of machine c-1:") {
			t.Errorf("told %v", err)
		}
	})
}

// proves: F05
func TestWhatBecomesOfVolumesIsSaidBeforeTheClusterIsDeleted(t *testing.T) {
	t.Parallel()
	for _, infrastructure := range []string{"c", "c-x7k2p"} { // as a chart names it, and as a ClusterClass
		volumesAreKept(t, infrastructure)
	}
}

func volumesAreKept(t *testing.T, infrastructure string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(cluster, "infrastructureRef: {name: c}", "infrastructureRef: {name: "+infrastructure+"}", 1) +
			strings.Replace(strings.TrimSuffix(network, "---\n"), "name: c}", "name: "+infrastructure+"}", 1)
		client := parent(t, text)
		asked := map[string]int{}
		away := func(a clienttesting.Action) (bool, runtime.Object, error) {
			asked[a.GetVerb()]++
			return asked[a.GetVerb()] == 1, nil, apierrors.NewInternalError(errors.New("failed calling webhook: connection refused"))
		}
		client.PrependReactor("patch", "*", away)
		client.PrependReactor("delete", "*", away)
		if err := Delete(t.Context(), client, in, "c", map[string]string{"janitor.capi.stackhpc.com/volumes-policy": "keep"}, func(Report) {}); err != nil {
			t.Fatal(err)
		}
		var did []string
		for _, a := range client.Actions() {
			if verb := a.GetVerb(); verb == "patch" || verb == "delete" {
				did = append(did, verb+" "+a.GetResource().Resource)
			}
		}
		left, err := client.Resource(openStackClusters).Namespace(in).Get(t.Context(), infrastructure, metav1.GetOptions{})
		if err != nil || left.GetAnnotations()["janitor.capi.stackhpc.com/volumes-policy"] != "keep" || strings.Join(did, ", ") != "patch openstackclusters, patch openstackclusters, delete clusters, delete clusters" {
			t.Errorf("did %v; annotations %v (%v)", did, left.GetAnnotations(), err)
		}
	})
}

// TestServerGroupsGo before their controller may; those of another cluster are
// not waited for.
//
// proves: S-34
func TestServerGroupsGo(t *testing.T) {
	t.Parallel()
	const groups = `servergroups
metadata: {name: c-md, labels: {cluster.x-k8s.io/cluster-name: c}}
status: {conditions: [{type: Available, status: "False", reason: Progressing}, {type: Progressing, status: "True", reason: TransientError, message: nova is away}]}
---
servergroups
metadata: {name: d-md, labels: {cluster.x-k8s.io/cluster-name: d}}
`
	synctest.Test(t, func(t *testing.T) {
		client, begun := parent(t, groups), time.Now()
		time.AfterFunc(5*time.Second, func() {
			if err := client.Resource(serverGroups).Namespace(in).Delete(t.Context(), "c-md", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		if err := AwaitServerGroups(t.Context(), client, in, "c"); err != nil || time.Since(begun) < 5*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("it is too late"))
		defer cancel()
		if err := AwaitServerGroups(ctx, parent(t, groups), in, "c"); err == nil || err.Error() != "deleting ServerGroup c-md: TransientError nova is away: it is too late" {
			t.Errorf("told %v", err)
		}
	})
}

const refusedWorker = cluster + network + plane + `---
machinedeployments
metadata: {name: c-md, generation: 1, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {replicas: 2}
status: {observedGeneration: 1, replicas: 2, readyReplicas: 1, upToDateReplicas: 2}
---
machines
metadata: {name: c-2, labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: c-md}}
spec: {clusterName: c, infrastructureRef: {name: c-2}}
status: {phase: Provisioning, conditions: [{type: Ready, status: "False", reason: NotReady, message: waiting}]}
---
openstackmachines
metadata: {name: c-2}
status: {failureMessage: No valid host was found}
`

// TestAControlPlaneDoesNotWaitForWorkers, whose refusal ends only the wait for all.
//
// proves: S-27
func TestAControlPlaneDoesNotWaitForWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rising := strings.Replace(refusedWorker, "readyReplicas: 1, upToDateReplicas: 1}", "readyReplicas: 0, upToDateReplicas: 1}", 1)
		client, begun := parent(t, rising), time.Now()
		time.AfterFunc(5*time.Minute, func() {
			object, err := client.Resource(controlPlanes).Namespace(in).Get(t.Context(), "c-control-plane", metav1.GetOptions{})
			if err == nil {
				err = unstructured.SetNestedField(object.Object, int64(1), "status", "readyReplicas")
			}
			if err == nil {
				_, err = client.Resource(controlPlanes).Namespace(in).Update(t.Context(), object, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Error(err)
			}
		})
		r, err := AwaitControlPlane(t.Context(), client, in, "c", func(Report) {})
		if err != nil || time.Since(begun) < 5*time.Minute || r.ControlPlane.String() != "1/1" || r.Workers.String() != "1/2" || r.Ready() {
			t.Errorf("after %s: %+v, %v", time.Since(begun), r, err)
		}
		if _, err := Await(t.Context(), client, in, "c", Report.Ready, func(Report) {}); err == nil || !strings.Contains(err.Error(), "Machine c-2: No valid host was found") {
			t.Errorf("waiting for all: %v", err)
		}
	})
}

// TestAMachineThatNeverWasIsDeletedLikeAnyOther: its cause does not end the wait.
func TestAMachineThatNeverWasIsDeletedLikeAnyOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, begun := parent(t, refusedWorker), time.Now()
		client.PrependReactor("delete", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) { // a finalizer holds it
			return begun.Add(10 * time.Minute).After(time.Now()), nil, nil
		})
		time.AfterFunc(10*time.Minute, func() {
			if err := client.Resource(clusters).Namespace(in).Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		if err := Delete(t.Context(), client, in, "c", nil, func(Report) {}); err != nil || time.Since(begun) < 10*time.Minute {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

func TestAKubeconfigIsClusterAPIs(t *testing.T) {
	t.Parallel()
	secret := func(name, value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name + "-kubeconfig"}, Data: map[string][]byte{"value": []byte(value)}}
	}
	client := kubefake.NewClientset(secret("c", "text\n"), secret("empty", " "))
	if text, err := Kubeconfig(t.Context(), client, in, "c"); err != nil || text != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Kubeconfig(t.Context(), client, in, "empty"); fault.Remedy(err) == "" {
		t.Errorf("an empty one: %v", err)
	}
	if _, err := Kubeconfig(t.Context(), client, in, "none"); !apierrors.IsNotFound(err) {
		t.Errorf("none: %v", err)
	}
}
