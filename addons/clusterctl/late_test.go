package clusterctl

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

const (
	lateManager = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: manager}, spec: {selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: manager, image: manager}]}}}}`
	lateSecret = "{apiVersion: v1, kind: Secret, metadata: {namespace: default, name: webhook}}"
)

// TestALateDeploymentStartsWhenItsSecretIsThereAndItsKindsAreServed has a real API server. A
// controller whose kinds are not served ends, and Kubernetes waits longer each time.
func TestALateDeploymentStartsWhenItsSecretIsThereAndItsKindsAreServed(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	on, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	deployments, err := kube.Decode(strings.NewReader(lateManager))
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := kube.Decode(strings.NewReader(podMonitors))
	if err != nil {
		t.Fatal(err)
	}
	waited, started := make(chan string, 1), make(chan error, 1)
	tell := func(text string) {
		select {
		case waited <- text:
		default:
		}
	}
	go func() {
		late := lateDeployment{deployment: deployments[0], secrets: []string{"webhook"}}
		started <- late.start(t.Context(), on, definitions, &work{objects: 1, tell: tell})
	}()
	absent := func(without string) {
		t.Helper()
		all, err := on.Typed.AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(all.Items) > 0 {
			t.Fatalf("without %s there are %d Deployments, %v", without, len(all.Items), err)
		}
	}
	time.Sleep(time.Second)
	absent("its secret")
	if err := on.Apply(t.Context(), []byte(lateSecret)); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-waited:
		if !strings.Contains(text, "definition podmonitors.monitoring.coreos.com not served yet") {
			t.Errorf("it says that it waits for %q", text)
		}
	case err := <-started:
		t.Fatalf("it did not wait for its kinds: %v", err)
	}
	absent("its kinds")
	server.Serve(t, []byte(podMonitors))
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	all, err := on.Typed.AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Errorf("in the end: %v, %v", all, err)
	}
}
