package apitest

import (
	"testing"

	"github.com/slipway-sh/slipway/internal/kube"

	"k8s.io/client-go/tools/clientcmd"
)

// TestWhatIsAppliedIsThere, and works at once.
func TestWhatIsAppliedIsThere(t *testing.T) {
	t.Parallel()
	server := Start(t)
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(server.Kubeconfig()))
	if err != nil {
		t.Fatal(err)
	}
	on, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: default, name: d}\nspec: {replicas: 2, template: {metadata: {labels: {a: b}}}}\n"
	if err := on.Apply(t.Context(), []byte(deployment)); err != nil {
		t.Fatal(err)
	}
	if server.Get("deployments default/d") == nil || server.Get("pods default/d-1") == nil {
		t.Error("it is not there")
	}
}
