package apitest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/kube"
)

// TestWhatIsAppliedIsThere, and works at once.
func TestWhatIsAppliedIsThere(t *testing.T) {
	t.Parallel()
	server := Start(t)
	on := open(t, server)
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: default, name: d}\nspec: {replicas: 2, template: {metadata: {labels: {a: b}}}}\n"
	if err := on.Apply(t.Context(), []byte(deployment)); err != nil {
		t.Fatal(err)
	}
	if server.Get("deployments default/d") == nil || server.Get("pods default/d-1") == nil {
		t.Error("it is not there")
	}
}

// TestWhatControllersKeepRight: pods are as many as wanted and go with their Deployment, a generation
// counts changes of what is wanted, questions leave nothing behind, and lists have an order.
func TestWhatControllersKeepRight(t *testing.T) {
	t.Parallel()
	server := Start(t)
	deployment := func(labels string, replicas int) string {
		return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: d, labels: {%s}}, spec: {replicas: %d}}", labels, replicas)
	}
	for _, step := range []struct {
		labels               string
		replicas, generation int
	}{{"", 2, 1}, {"a: b", 2, 1}, {"a: b", 1, 2}, {"a: b", 0, 3}, {"a: b", 2, 4}} {
		server.Put(deployment(step.labels, step.replicas))
		d := server.Get("deployments default/d")
		pods := slices.DeleteFunc(server.Paths(), func(path string) bool { return !strings.HasPrefix(path, "pods ") })
		if d.GetGeneration() != int64(step.generation) || len(pods) != step.replicas || !slices.IsSorted(pods) {
			t.Errorf("%+v: generation %d, %q", step, d.GetGeneration(), pods)
		}
	}
	on := open(t, server)
	if err := on.Typed.AppsV1().Deployments("default").Delete(t.Context(), "d", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		review, err := on.Typed.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
		if err != nil || !review.Status.Allowed {
			t.Errorf("%v, %v", review, err)
		}
	}
	if paths := server.Paths(); !slices.Equal(paths, []string{"namespaces default"}) {
		t.Errorf("left: %q", paths)
	}
	for _, name := range []string{"c", "a", "b"} {
		server.Put("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: " + name + "}}")
	}
	list, err := on.Typed.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 || list.Items[0].Name != "a" || list.Items[2].Name != "c" {
		t.Errorf("%v, %v", list, err)
	}
}

func open(t *testing.T, server *Server) *kube.Cluster {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(server.Kubeconfig()))
	if err != nil {
		t.Fatal(err)
	}
	on, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return on
}
