package clusterapi

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// soon is how long a wait may last once a cause that does not pass is known.
const soon = 45 * time.Second

// refusedLogin is a cloud that refuses the cluster's credential.
func refusedLogin(context.Context, objects) *cause.Cloud {
	return &cause.Cloud{Refused: &cause.Refusal{Status: 404, Words: "Could not find Application Credential: 5a1f."}}
}

// sound is a cluster whose infrastructure is ready, so that no part of it has a cause of
// its own.
const sound = cluster + network + plane

// TestEveryWaitEndsWithItsCause within 45 s after it is known: a credential that is revoked
// while a cluster is created or deleted, and when only its server groups are left; a Keystone
// that is down ends no wait, because it comes back.
func TestEveryWaitEndsWithItsCause(t *testing.T) {
	t.Parallel()
	down := func(context.Context, objects) *cause.Cloud {
		return &cause.Cloud{Refused: &cause.Refusal{Status: 503, Words: "Service Unavailable"}}
	}
	waits := map[string]func(ctx context.Context, t *testing.T, ask func(context.Context, objects) *cause.Cloud) error{
		"creation": func(ctx context.Context, t *testing.T, ask func(context.Context, objects) *cause.Cloud) error {
			_, err := await(ctx, parent(t, sound), in, "c", goal{done: func(Report) bool { return false }, ends: func(p Part) bool { return p.Hopeless }, ask: ask}, func(Report) {})
			return err
		},
		"deletion": func(ctx context.Context, t *testing.T, ask func(context.Context, objects) *cause.Cloud) error {
			return awaitDeletion(ctx, t, ask)
		},
		"server groups": func(ctx context.Context, t *testing.T, ask func(context.Context, objects) *cause.Cloud) error {
			return awaitGroups(ctx, parent(t, "servergroups\nmetadata: {name: c-md, labels: {cluster.x-k8s.io/cluster-name: c}}\n"), in, "c", &Leftover{ask: ask})
		},
		"what outlives a Cluster": func(ctx context.Context, t *testing.T, ask func(context.Context, objects) *cause.Cloud) error {
			return leaveFor(ctx, &Leftover{ask: ask}, unstructured.Unstructured{Object: map[string]any{"kind": "OpenStackCluster", "metadata": map[string]any{"name": "c", "namespace": in}}})
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				err := wait(t.Context(), t, refusedLogin)
				if took := time.Since(begun); err == nil || took > soon || took < vain.Patience || !strings.Contains(err.Error(), "Could not find Application Credential") || !strings.Contains(fault.Remedy(err), "credential") {
					t.Errorf("after %s: %v (%s)", took, err, fault.Remedy(err))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				begun = time.Now()
				if err := wait(ctx, t, down); err == nil || time.Since(begun) < 5*time.Minute {
					t.Errorf("Keystone is down, and after %s: %v", time.Since(begun), err)
				}
			})
		})
	}
}

func awaitDeletion(ctx context.Context, t *testing.T, ask func(context.Context, objects) *cause.Cloud) error {
	wanted := deletion()
	wanted.ask = ask
	_, err := await(ctx, parent(t, sound+"---\n"+leaving), in, "c", wanted, func(Report) {})
	return err
}

// leaving is a worker that is being deleted.
const leaving = `machines
metadata: {name: c-w1, labels: {cluster.x-k8s.io/cluster-name: c}, deletionTimestamp: "2026-01-02T09:00:10Z", finalizers: [machine.cluster.x-k8s.io]}
spec: {clusterName: c, infrastructureRef: {name: c-w1}, providerID: "openstack:///w1"}
status: {phase: Deleting, nodeRef: {name: c-w1}}
---
openstackmachines
metadata: {name: c-w1, labels: {cluster.x-k8s.io/cluster-name: c}, deletionTimestamp: "2026-01-02T09:00:10Z", finalizers: [openstackmachine.infrastructure.cluster.x-k8s.io]}
spec: {providerID: "openstack:///w1"}
`

// TestALockedServerEndsADeletion: Nova refuses to delete it until somebody unlocks it.
func TestALockedServerEndsADeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := awaitDeletion(t.Context(), t, func(context.Context, objects) *cause.Cloud {
			return (&cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "c-w1", Status: "ACTIVE", Locked: true}}}).Indexed()
		})
		if took := time.Since(begun); err == nil || took > soon || !strings.Contains(err.Error(), "somebody locked it") || !strings.Contains(fault.Remedy(err), "openstack server unlock c-w1") {
			t.Errorf("after %s: %v (%s)", took, err, fault.Remedy(err))
		}
	})
}

// TestWhatOnlyAnEventTellsEndsTheWait: CAPO leaves no condition when a network has no
// address for a port.
func TestWhatOnlyAnEventTellsEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := parent(t, twoMachines)
		const late = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()
		group.Go(func() { // CAPO tries on and says so each time
			for n, pause := 0, late; ; n, pause = n+1, 10*time.Second {
				select {
				case <-ctx.Done():
					return
				case <-time.After(pause):
					warn(t, client, "c-1", "No more IP addresses available on network 5a1f.", n)
				}
			}
		})
		begun := time.Now()
		_, err := await(ctx, client, in, "c", goal{done: Report.Ready, ends: func(p Part) bool { return p.Hopeless }, ask: func(context.Context, objects) *cause.Cloud { return nil }}, func(Report) {})
		if took := time.Since(begun); err == nil || took > late+soon || !strings.Contains(err.Error(), "No more IP addresses available") {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// warn is a warning event about a machine, the n-th of its kind.
func warn(t *testing.T, client *fake.FakeDynamicClient, about, message string, n int) {
	t.Helper()
	create(t, client, corev1.SchemeGroupVersion.WithResource("events"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": about + "." + strconv.Itoa(n), "namespace": in}, "type": "Warning", "reason": "FailedCreatePort", "message": message,
		"involvedObject": map[string]any{"kind": "OpenStackMachine", "name": about}, "lastTimestamp": time.Now().UTC().Format(time.RFC3339)}})
}

// leaveFor waits for an object that never goes.
func leaveFor(ctx context.Context, l *Leftover, o unstructured.Unstructured) error {
	for {
		if err := l.Vain(ctx, []*unstructured.Unstructured{&o}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// TestWhatKeepsAnObjectEndsItsWait: words of CAPO that do not pass, about an
// OpenStackCluster that outlives its Cluster; and a wait without a cause goes on.
func TestWhatKeepsAnObjectEndsItsWait(t *testing.T) {
	t.Parallel()
	left := func(message string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{"kind": "OpenStackCluster", "metadata": map[string]any{"name": "c", "namespace": in, "creationTimestamp": "2000-01-01T00:00:00Z"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "NetworkReady", "status": "False", "severity": "Error", "reason": "NetworkReconcileFailed", "message": message,
				"lastTransitionTime": "2000-01-01T00:00:00Z"}}}}}
	}
	ask := func(context.Context, objects) *cause.Cloud { return nil }
	for name, test := range map[string]struct {
		o    unstructured.Unstructured
		ends bool
	}{
		"refused": {left("failed to delete router: Policy does not allow delete_router to be performed. (403)"), true},
		"quiet":   {left(""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				begun := time.Now()
				err := leaveFor(ctx, &Leftover{ask: ask}, test.o)
				if took := time.Since(begun); test.ends != (took <= soon) || test.ends && !strings.Contains(err.Error(), "Policy does not allow") {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// unrepaired is a worker that is not well, and a health check that may not replace it. No
// part has a cause of its own.
const unrepaired = cluster + network + plane + `---
machinedeployments
metadata: {name: c-md, generation: 1, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {replicas: 1}
status: {observedGeneration: 1, replicas: 1, readyReplicas: 0, upToDateReplicas: 1}
---
machines
metadata: {name: c-w, labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: c-md}}
spec: {clusterName: c, infrastructureRef: {name: c-w}}
status: {phase: Running, nodeRef: {name: c-w}, conditions: [{type: HealthCheckSucceeded, status: "False", reason: NodeUnhealthy}]}
---
machinehealthchecks
metadata: {name: c-md, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {clusterName: c, selector: {matchLabels: {cluster.x-k8s.io/deployment-name: c-md}}}
status: {conditions: [{type: RemediationAllowed, status: "ALLOWED", reason: TooManyUnhealthy,
  message: "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 1, unhealthy: 1, maxUnhealthy: 0)"}]}
`

// TestARepairThatIsHeldBackEndsTheWait, and one that may go on does not.
func TestARepairThatIsHeldBackEndsTheWait(t *testing.T) {
	t.Parallel()
	for allowed, early := range map[string]bool{"False": true, "True": false} {
		t.Run("allowed is "+allowed, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				text := strings.Replace(unrepaired, "ALLOWED", allowed, 1)
				if !early {
					text = strings.Replace(text, "Remediation is not allowed", "Remediation is allowed", 1)
				}
				begun := time.Now()
				_, err := Await(ctx, parent(t, text), in, "c", Report.Ready, func(Report) {})
				if took := time.Since(begun); (took <= soon) != early || early && !strings.Contains(err.Error(), "MachineHealthCheck c-md: Remediation is not allowed") {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// TestAPausedClusterEndsTheWait also where all of it is well, as before an upgrade; one part that
// is paused does not, because others go on.
func TestAPausedClusterEndsTheWait(t *testing.T) {
	t.Parallel()
	upgraded := strings.Replace(sound, "generation: 2", "generation: 3", 1) // nobody has seen what is wanted
	for name, test := range map[string]struct {
		text  string
		early bool
	}{
		"the cluster": {strings.Replace(upgraded, "spec: {infrastructureRef", "spec: {paused: true, infrastructureRef", 1), true},
		"a machine":   {strings.Replace(upgraded, "metadata: {name: c-1, labels", `metadata: {name: c-1, annotations: {cluster.x-k8s.io/paused: ""}, labels`, 1), false},
		"none":        {upgraded, false},
	} {
		for what, wait := range map[string]func(context.Context, *fake.FakeDynamicClient) error{
			"all": func(ctx context.Context, client *fake.FakeDynamicClient) error {
				_, err := Await(ctx, client, in, "c", Report.Ready, func(Report) {})
				return err
			},
			"control plane": func(ctx context.Context, client *fake.FakeDynamicClient) error {
				_, err := AwaitControlPlane(ctx, client, in, "c", func(Report) {})
				return err
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					defer cancel()
					begun := time.Now()
					err := wait(ctx, parent(t, test.text))
					if took := time.Since(begun); err == nil || (took <= soon) != test.early || test.early && (!strings.Contains(err.Error(), "Cluster c: spec.paused is set") || !strings.Contains(fault.Remedy(err), "kubectl patch cluster")) {
						t.Errorf("after %s: %v (%s)", took, err, fault.Remedy(err))
					}
				})
			})
		}
	}
}

// TestAControllerThatCannotRunEndsTheWait of a creation and of a deletion, with its own cause;
// one that only starts does not, nor does one without which certificates serve on.
func TestAControllerThatCannotRunEndsTheWait(t *testing.T) {
	t.Parallel()
	goals := map[string]goal{"creation": {done: func(Report) bool { return false }, ends: func(p Part) bool { return p.Hopeless }}, "deletion": {done: func(r Report) bool { return !r.Exists }, ends: stuck}}
	for name, test := range map[string]struct {
		deployment, pod, says string
	}{
		"crashes":         {crashing, crashingPod, "Deployment capo-system/capo-controller-manager: none of its 1 pods is ready: CrashLoopBackOff, ended 7 times"},
		"scaled to zero":  {scaled, "", "Deployment orc-system/orc-controller-manager: it is scaled to zero"},
		"no image":        {crashing, strings.Replace(crashingPod, "CrashLoopBackOff", "ImagePullBackOff", 1), "ImagePullBackOff"},
		"starts":          {crashing, strings.NewReplacer("7", "1", "CrashLoopBackOff", "ContainerCreating").Replace(crashingPod), ""},
		"starts slowly":   {away("True", "ReplicaSetUpdated"), "", ""},
		"was there":       {away("True", "NewReplicaSetAvailable"), "", "Deployment capo-system/capo-controller-manager: none of its 1 pods is ready"},
		"never started":   {away("False", "ProgressDeadlineExceeded"), "", "Deployment capo-system/capo-controller-manager: none of its 1 pods is ready"},
		"of certificates": {strings.ReplaceAll(crashing, "capo-system", "cert-manager"), crashingPod, ""},
	} {
		for what, g := range goals {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					client := parent(t, sound)
					place(t, client, deployments, test.deployment)
					if test.pod != "" {
						place(t, client, podKind, test.pod)
					}
					g.ask = func(context.Context, objects) *cause.Cloud { return nil }
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					begun := time.Now()
					_, err := await(ctx, client, in, "c", g, func(Report) {})
					switch took := time.Since(begun); {
					case test.says == "" && took < 5*time.Minute:
						t.Errorf("it ended after %s: %v", took, err)
					case test.says != "" && (err == nil || took > soon || !strings.Contains(err.Error(), test.says) || !strings.Contains(fault.Remedy(err), "kubectl")):
						t.Errorf("after %s: %v (%s)", took, err, fault.Remedy(err))
					}
				})
			})
		}
	}
}

// away is a controller that is not ready for three minutes when a test begins, whose Deployment
// makes that progress.
func away(status, reason string) string {
	return strings.NewReplacer("2026-01-02T08:00:00Z", "1999-12-31T23:57:00Z", `lastTransitionTime: "2026-01-02T09:00:00Z"}`,
		`lastTransitionTime: "1999-12-31T23:57:00Z"}, {type: Progressing, status: "`+status+`", reason: `+reason+`}`).Replace(crashing)
}

// place creates an object in the namespace that it names.
func place(t *testing.T, client *fake.FakeDynamicClient, kind schema.GroupVersionResource, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(encoded) // whole numbers as the API server's
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(kind).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
