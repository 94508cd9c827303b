package clusterapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// through is a client of an API server that answers when enough questions wait.
func through(t *testing.T, m *kubetest.Meeting) (context.Context, dynamic.Interface) {
	t.Helper()
	client, err := dynamic.NewForConfig(&rest.Config{Host: "https://meeting", Transport: m, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx, client
}

const noItems = `{"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []}`

// TestKindsAreListedSideBySide: the Clusters alone, and without one nothing else; of what
// fails the first in the order of the kinds is told.
func TestKindsAreListedSideBySide(t *testing.T) {
	t.Parallel()
	const one = `{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterList", "metadata": {}, "items": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"namespace": "shop", "name": "c"}}]}`
	for name, test := range map[string]struct {
		clusters string
		failing  []string
		asked    int
		why      string
	}{
		"a cluster":        {one, nil, len(resources()) + 1, ""}, // and the events
		"no cluster":       {noItems, nil, 1, ""},
		"lists that fail":  {one, []string{"machinehealthchecks", "openstackmachines", "machinedeployments"}, len(resources()) + 1, "listing machinedeployments: "},
		"events that fail": {one, []string{"events"}, len(resources()) + 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &kubetest.Meeting{Wanted: listsAtOnce, First: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/clusters") }}
			m.Answer = func(r *http.Request) (int, string) {
				if m.First(r) {
					return http.StatusOK, test.clusters
				}
				if slices.ContainsFunc(test.failing, func(kind string) bool { return strings.HasSuffix(r.URL.Path, "/"+kind) }) {
					return http.StatusForbidden, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403}`
				}
				return http.StatusOK, noItems
			}
			ctx, client := through(t, m)
			all, err := ReadAll(ctx, client, metav1.NamespaceAll)
			if (err == nil) != (test.why == "") || err != nil && !strings.HasPrefix(err.Error(), test.why) {
				t.Errorf("%v, want %q", err, test.why)
			}
			asked := m.Asked()
			if len(asked) != test.asked || !strings.HasSuffix(asked[0], "/clusters") {
				t.Errorf("asked for %v", asked)
			}
			if outline := all.Outline(); err == nil && len(outline) != test.asked/len(resources()) {
				t.Errorf("read %+v", outline)
			}
		})
	}
}

// TestFailuresAreTakenBackSideBySide: for each reason of failures the events of its successes
// are read, and kept in the order of the reasons.
func TestFailuresAreTakenBackSideBySide(t *testing.T) {
	t.Parallel()
	event := func(name, reason string) string {
		return `{"apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "shop", "name": "` + name + `"}, "reason": "` + reason + `"}`
	}
	of := func(items ...string) string {
		return `{"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": [` + strings.Join(items, ", ") + `]}`
	}
	selects := func(r *http.Request) string { return r.URL.Query().Get("fieldSelector") }
	m := &kubetest.Meeting{Wanted: 3, First: func(r *http.Request) bool { return selects(r) == "type=Warning" }}
	m.Answer = func(r *http.Request) (int, string) {
		if m.First(r) {
			return http.StatusOK, of(event("f1", "FailedCreateServer"), event("f2", "FailedAttach"), event("f3", "FailedDetach"))
		}
		what := strings.TrimPrefix(selects(r), "reason=Successful")
		return http.StatusOK, of(event("s-"+strings.ToLower(what), "Successful"+what))
	}
	ctx, client := through(t, m)
	into := map[string]objects{"shop": {clusters: namespace(t, strings.TrimSuffix(cluster, "---\n"))[clusters]}}
	warnings(ctx, client, metav1.NamespaceAll, into)
	var names []string
	for _, e := range into["shop"][eventKind] {
		names = append(names, e.GetName())
	}
	if got := strings.Join(names, " "); got != "f1 f2 f3 s-attach s-createserver s-detach" {
		t.Errorf("kept %s", got)
	}
}

// TestControllersAreAskedForSideBySide, and told in the order of their namespaces.
func TestControllersAreAskedForSideBySide(t *testing.T) {
	t.Parallel()
	m := &kubetest.Meeting{Wanted: len(controllerNamespaces())}
	m.Answer = func(r *http.Request) (int, string) {
		in := strings.Split(r.URL.Path, "/")[5] // /apis/apps/v1/namespaces/…
		return http.StatusOK, `{"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {}, "items": [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "` + in + `", "name": "controller"}, "status": {"readyReplicas": 1}}]}`
	}
	ctx, client := through(t, m)
	var in []string
	for _, c := range Controllers(ctx, client) {
		in = append(in, c.Namespace)
	}
	if !slices.Equal(in, controllerNamespaces()) {
		t.Errorf("told of %v", in)
	}
}
