package worker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// TestAKindThatIsNotServedYet: an API server that starts names no kinds of definitions, and what
// is there of them is not taken for gone.
func TestAKindThatIsNotServedYet(t *testing.T) {
	t.Parallel()
	ref := v1alpha1.ObjectRef{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Namespace: "a", Name: "c"}
	for reason, status := range map[metav1.StatusReason]int{metav1.StatusReasonServiceUnavailable: http.StatusServiceUnavailable, metav1.StatusReasonNotFound: http.StatusNotFound} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch r.URL.Path {
			case "/api":
				fmt.Fprint(w, `{"kind": "APIVersions", "versions": ["v1"]}`)
			case "/api/v1":
				fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": []}`)
			case "/apis":
				fmt.Fprint(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
			case "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/clusters/c":
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d}`, reason, status)
			default:
				http.NotFound(w, r)
			}
		}))
		t.Cleanup(server.Close)
		cluster, err := kube.New(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		j := &job{kube: cluster}
		there, err := j.find(t.Context(), ref)
		if gone := status == http.StatusNotFound; there != nil || gone && err != nil || !gone && (err == nil || !passing(err)) {
			t.Errorf("%s: %v, %v", reason, there, err)
		}
	}
}
