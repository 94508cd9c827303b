package clusterapi

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
)

const crashing = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: capo-controller-manager, namespace: capo-system, creationTimestamp: "2026-01-02T08:00:00Z"}
spec: {replicas: 1, selector: {matchLabels: {app: capo}}}
status: {conditions: [{type: Available, status: "False", lastTransitionTime: "2026-01-02T09:00:00Z"}]}
`

const crashingPod = `
apiVersion: v1
kind: Pod
metadata: {name: capo-x, namespace: capo-system, labels: {app: capo}}
status: {containerStatuses: [{name: manager, restartCount: 7, state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s}}}]}
`

const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: orc-controller-manager, namespace: orc-system, creationTimestamp: "2026-01-02T08:00:00Z"}
spec: {replicas: 0}
`

// TestControllersAreRead with why they do not run.
func TestControllersAreRead(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{deployments: "DeploymentList", podKind: "PodList"})
	for text, kind := range map[string]schema.GroupVersionResource{crashing: deployments, scaled: deployments, crashingPod: podKind} {
		place(t, client, kind, text)
	}
	all := Controllers(t.Context(), client)
	if len(all) != 2 {
		t.Fatalf("read %+v", all)
	}
	if c := all[0]; c.Name != "capo-controller-manager" || c.Wanted != 1 || c.Ready != 0 || c.Words != "CrashLoopBackOff, ended 7 times: back-off 5m0s" || c.Since.Hour() != 9 {
		t.Errorf("crashing: %+v", c)
	}
	if c := all[1]; c.Name != "orc-controller-manager" || c.Wanted != 0 || c.Words != "" {
		t.Errorf("scaled to zero: %+v", c)
	}
}

// TestACredentialThatIsNotThereIsACause: its Secret is gone, so the cloud cannot be asked.
func TestACredentialThatIsNotThereIsACause(t *testing.T) {
	t.Parallel()
	client := parent(t, cluster+"openstackclusters\nmetadata: {name: c}\nspec: {identityRef: {name: c-cloud, cloudName: openstack}}\nstatus: {ready: true}\n")
	all, err := ReadAll(t.Context(), client, in)
	if err != nil {
		t.Fatal(err)
	}
	said := all.Ask(t.Context(), client, look.NewCache(time.Now), false, func(Report) bool { return true })
	for _, r := range all.Reports(said.Of, time.Now()) {
		if len(r.Findings) != 1 || r.Findings[0].Reason != "credential-missing" || r.Findings[0].Object != (cause.Ref{Kind: "credential", Name: "c-cloud"}) {
			t.Errorf("found %+v", r.Findings)
		}
	}
}
