package podlogs

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/alerts"
)

// TestLinesOfPods are asked for below the API server, and come in the order of their times,
// whatever streams they are of.
func TestLinesOfPods(t *testing.T) {
	t.Parallel()
	var asked string
	client := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/namespaces/monitoring-system/services/loki" {
			_, _ = w.Write([]byte(`{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "loki"}}`))
			return
		}
		asked = r.URL.Path + " " + r.URL.Query().Get("query") + " " + r.URL.Query().Get("limit") + " " + r.URL.Query().Get("since")
		_, _ = w.Write([]byte(`{"data": {"result": [
			{"stream": {"k8s_node_name": "n1", "k8s_pod_name": "a", "k8s_container_name": "c"}, "values": [["3000000000", "third\n"], ["1000000000", "first"]]},
			{"stream": {"k8s_pod_name": "b"}, "values": [["2000000000", "second"]]}]}}`))
	})
	got, err := Read(t.Context(), client, Query{Namespace: "n", Pod: `a"}.`, Contains: `say "no"`, Since: 90 * time.Minute, Lines: 7})
	if err != nil {
		t.Fatal(err)
	}
	const want = "/api/v1/namespaces/monitoring-system/services/http:loki:3100/proxy/loki/api/v1/query_range " +
		`{k8s_namespace_name="n", k8s_pod_name=~"a\"\\}\\..*"} |= "say \"no\"" 7 5400s`
	if asked != want {
		t.Errorf("asked for %s\nwant %s", asked, want)
	}
	if len(got) != 3 || got[0].Text != "first" || got[1].Pod != "b" || got[2] != (Line{At: time.Unix(3, 0).UTC(), Node: "n1", Pod: "a", Container: "c", Text: "third"}) {
		t.Errorf("lines %+v", got)
	}
}

// TestNoLoki: a cluster without it is told from one whose Loki does not answer.
func TestNoLoki(t *testing.T) {
	t.Parallel()
	absent := server(t, http.NotFound)
	if _, err := Read(t.Context(), absent, Query{}); !errors.Is(err, alerts.ErrAbsent) {
		t.Errorf("without Loki: %v", err)
	}
	for name, text := range map[string]string{"no JSON": "no", "no time": `{"data": {"result": [{"values": [["x", "y"]]}]}}`} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func server(t *testing.T, handler http.HandlerFunc) kubernetes.Interface {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
