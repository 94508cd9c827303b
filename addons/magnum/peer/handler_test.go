package peer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// watch is the watches of a replica: it is told of what the test says.
type watch struct {
	cache.Informer
	handlers []toolscache.ResourceEventHandler
}

func (w *watch) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return w, nil
}

func (w *watch) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	w.handlers = append(w.handlers, h)
	return w, nil
}

func (w *watch) HasSynced() bool { return true }

func replica(t *testing.T) (*watch, http.Handler) {
	t.Helper()
	w := &watch{}
	stock, err := inventory.New(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return w, Handler(stock)
}

func template(version string) *v1alpha1.ClusterTemplate {
	return &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "magnum-p", Name: "t", ResourceVersion: version}}
}

// TestAReplicaSaysWhatItShows: what it was told of or later, and no more after a deletion.
func TestAReplicaSaysWhatItShows(t *testing.T) {
	t.Parallel()
	w, handler := replica(t)
	w.handlers[0].OnAdd(template("7"), false)
	kind := inventory.Kind(template(""))
	query := func(pairs ...string) url.Values {
		q := url.Values{"kind": {kind}, "namespace": {"magnum-p"}, "name": {"t"}, "version": {"7"}, "deleted": {"false"}}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		return q
	}
	ask := func(q url.Values) int {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, Path+"?"+q.Encode(), nil))
		return answer.Code
	}
	for _, test := range []struct {
		change []string
		status int
	}{
		{nil, http.StatusNoContent},
		{[]string{"version", "6"}, http.StatusNoContent},
		{[]string{"version", "8"}, http.StatusGatewayTimeout},
		{[]string{"name", "u"}, http.StatusGatewayTimeout},
		{[]string{"namespace", "magnum-q"}, http.StatusGatewayTimeout},
		{[]string{"kind", inventory.Kind(&v1alpha1.Cluster{})}, http.StatusGatewayTimeout},
		{[]string{"deleted", "true"}, http.StatusGatewayTimeout},
		{[]string{"deleted", "true", "name", "u"}, http.StatusNoContent},
		{[]string{"deleted", ""}, http.StatusBadRequest},
		{[]string{"deleted", "perhaps"}, http.StatusBadRequest},
		{[]string{"kind", ""}, http.StatusBadRequest},
		{[]string{"version", ""}, http.StatusBadRequest},
	} {
		if got := ask(query(test.change...)); got != test.status {
			t.Errorf("%v: %d, not %d", test.change, got, test.status)
		}
	}
	w.handlers[0].OnDelete(template("7"))
	if got := ask(query("deleted", "true")); got != http.StatusNoContent {
		t.Errorf("after the deletion: %d", got)
	}
}

// found are replicas, and what was wrong with finding them.
type found struct {
	addresses []string
	err       error
}

func (f found) Find(context.Context) ([]string, error) { return f.addresses, f.err }

// TestAWriteWaitsForEachReplica, but for one that does not answer, or not as it should: these are
// in the log, with why.
func TestAWriteWaitsForEachReplica(t *testing.T) {
	t.Parallel()
	behind, handler := replica(t)
	var told atomic.Bool
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.AfterFunc(50*time.Millisecond, func() {
			told.Store(true)
			behind.handlers[0].OnAdd(template("7"), false)
		})
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(late.Close)
	ill := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(ill.Close)
	dead := httptest.NewServer(nil)
	dead.Close()
	address := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

	var log bytes.Buffer
	group := NewGroup(found{addresses: []string{address(late)}}, slog.New(slog.NewTextHandler(&log, nil)))
	group.Await(t.Context(), template("7"), false)
	if !told.Load() || log.Len() > 0 {
		t.Errorf("the answer came before the replica had it: %v\n%s", !told.Load(), &log)
	}
	group = NewGroup(found{[]string{address(ill), address(dead), address(late)}, errors.New("half of them")}, group.log)
	group.Await(t.Context(), template("7"), false)
	for _, want := range []string{"half of them", "replica=" + address(ill) + ` error="it answered 404 Not Found"`, "replica=" + address(dead), "connection refused"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), address(late)) {
		t.Errorf("of the replica that answered:\n%s", &log)
	}
}
