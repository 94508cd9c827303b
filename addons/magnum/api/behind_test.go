package api

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// behind is a server whose watch has not told yet of a template that another replica made.
func behind(t *testing.T) (*Server, *told, *v1alpha1.ClusterTemplate) {
	t.Helper()
	s, events := stocked(t, 1)
	made := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace("p"), Name: "t-1"}}
	made.Spec.Identity = v1alpha1.Identity{UUID: "0b7a9e0c-0d3c-4a51-8a41-0f6f2a9a1c01", Name: "small", ProjectID: "p", UserID: "u"}
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: made.Namespace}}, made} {
		if err := s.o.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return s, events, made
}

// TestWhatAnotherReplicaMadeIsFound, by uuid and by name, as soon as the watch has it, which
// the answer waits for.
func TestWhatAnotherReplicaMadeIsFound(t *testing.T) {
	t.Parallel()
	for _, ident := range []string{"0b7a9e0c-0d3c-4a51-8a41-0f6f2a9a1c01", "small"} {
		s, events, made := behind(t)
		time.AfterFunc(50*time.Millisecond, func() { events.add(made) })
		if w := listed(s, "/v1/clustertemplates/"+ident); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", ident, w.Code, w.Body)
		}
	}
	s, _, _ := behind(t)
	for _, path := range []string{"clustertemplates/0b7a9e0c-0d3c-4a51-8a41-0f6f2a9a1c02", "clustertemplates/smal", "clusters/small", "clusters/0b7a9e0c-0d3c-4a51-8a41-0f6f2a9a1c01"} {
		if w := listed(s, "/v1/"+path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestANodeGroupThatAnotherReplicaMadeIsFound in its cluster, and one of another cluster is not.
func TestANodeGroupThatAnotherReplicaMadeIsFound(t *testing.T) {
	t.Parallel()
	const id = "0b7a9e0c-0d3c-4a51-8a41-0f6f2a9a1c11"
	for _, test := range []struct {
		ident, cluster string
		status         int
	}{
		{id, "c-0", http.StatusOK}, {"gpu", "c-0", http.StatusOK}, {"cpu", "c-0", http.StatusNotFound},
		{id, "c-1", http.StatusNotFound}, {"gpu", "c-1", http.StatusNotFound},
	} {
		s, events := stocked(t, 2)
		group := &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace("p"), Name: "g-1"}}
		group.Spec.Identity = v1alpha1.Identity{UUID: id, Name: "gpu", ProjectID: "p", UserID: "u"}
		group.Spec.ClusterName, group.Spec.NodeCount = test.cluster, 1
		for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: group.Namespace}}, group} {
			if err := s.o.Client.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(50*time.Millisecond, func() { events.add(group) })
		if w := listed(s, "/v1/clusters/00000000-0000-4000-8000-000000000000/nodegroups/"+test.ident); w.Code != test.status {
			t.Errorf("%s of %s: %d %s", test.ident, test.cluster, w.Code, w.Body)
		}
	}
}

// TestMissesAreBounded: what is asked for in vain does not load the API server, and while that
// does not answer nobody is told that something is not there.
func TestMissesAreBounded(t *testing.T) {
	t.Parallel()
	s, _, _ := behind(t)
	reads, away := 0, false
	s.o.Client = interceptor.NewClient(s.o.Client.(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if reads++; away {
			return errors.New("connection refused")
		}
		return c.List(ctx, list, options...)
	}})
	away = true
	if w := listed(s, "/v1/clusters/none"); w.Code < http.StatusInternalServerError {
		t.Errorf("without an API server: %d %s", w.Code, w.Body)
	}
	away = false
	for range 10 * missBurst {
		if w := listed(s, "/v1/clusters/none"); w.Code != http.StatusNotFound {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if reads > 5*missBurst {
		t.Errorf("%d questions for %d requests", reads, 10*missBurst+1)
	}
}
