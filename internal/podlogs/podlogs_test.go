package podlogs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/alerts"
)

// TestLinesOfPods come in the order of their times, whatever streams they are of.
func TestLinesOfPods(t *testing.T) {
	t.Parallel()
	var asked string
	on := program(t, http.StatusOK, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + " " + r.URL.Query().Get("query") + " " + r.URL.Query().Get("limit") + " " + r.URL.Query().Get("since")
		_, _ = w.Write([]byte(`{"data": {"result": [
			{"stream": {"k8s_node_name": "n1", "k8s_pod_name": "a", "k8s_container_name": "c"}, "values": [["3000000000", "third\n"], ["1000000000", "first"]]},
			{"stream": {"k8s_pod_name": "b"}, "values": [["2000000000", "second"]]}]}}`))
	})
	got, err := Read(t.Context(), on, Query{Namespace: "n", Pod: `a"}.`, Contains: `say "no"`, Since: 90 * time.Minute, Lines: 7})
	if err != nil {
		t.Fatal(err)
	}
	const want = `/loki/api/v1/query_range {k8s_namespace_name="n", k8s_pod_name=~"a\"\\}\\..*"} |= "say \"no\"" 7 5400s`
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
	absent := alerts.Access{Client: fake.NewClientset()}
	if _, err := Read(t.Context(), absent, Query{}); !errors.Is(err, alerts.ErrAbsent) {
		t.Errorf("without Loki: %v", err)
	}
	busy := program(t, http.StatusTooManyRequests, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("too many outstanding requests\n"))
	})
	if _, err := Read(t.Context(), busy, Query{}); err == nil || err.Error() != "loki answers 429 Too Many Requests: too many outstanding requests" {
		t.Errorf("a busy Loki: %v", err)
	}
	for name, text := range map[string]string{"no JSON": "no", "no time": `{"data": {"result": [{"values": [["x", "y"]]}]}}`} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// program is a cluster whose Loki answers with a status and by handler.
func program(t *testing.T, status int, handler http.HandlerFunc) alerts.Access {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: alerts.Namespace, Name: "loki"}}
	return alerts.Access{Client: fake.NewClientset(service), Dial: func(_ context.Context, namespace, name string, port int) (net.Conn, error) {
		if namespace != service.Namespace || name != service.Name || port != 3100 {
			return nil, fmt.Errorf("nothing is at %s/%s:%d", namespace, name, port)
		}
		return net.Dial("tcp", s.Listener.Addr().String())
	}}
}
