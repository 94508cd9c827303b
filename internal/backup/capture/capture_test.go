package capture_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/capture"
	"github.com/slipway-sh/slipway/internal/fault"
)

// sink keeps what was added since the last Begin.
type sink struct {
	begun   int
	objects []backup.Object
}

func (s *sink) Begin(context.Context) error { s.begun++; s.objects = nil; return nil }

func (s *sink) Add(_ context.Context, o backup.Object) error {
	o.JSON = slices.Clone(o.JSON)
	s.objects = append(s.objects, o)
	return nil
}

func (s *sink) names() (all []string) {
	for _, o := range s.objects {
		all = append(all, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	return all
}

// server is an API server that knows lists, pages and revisions.
type server struct {
	t     *testing.T
	lists map[string][]map[string]any
	// forget is how many requests for a revision are answered by 410.
	forget int
	// other is a revision that is answered instead of the one that was asked for.
	other string

	asked    []string
	longest  int
	mostPage int
}

const revision = "4711"

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/version" {
		fmt.Fprint(w, `{"gitVersion":"v1.34.4"}`)
		return
	}
	q := r.URL.Query()
	s.asked = append(s.asked, r.URL.Path+" "+q.Get("resourceVersion")+q.Get("resourceVersionMatch"))
	items, ok := s.lists[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	if s.forget > 0 && (q.Get("resourceVersion") != "" || q.Get("continue") != "") {
		s.forget--
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`)
		return
	}
	from, _ := strconv.Atoi(q.Get("continue"))
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 {
		s.t.Errorf("%s has no limit", r.URL)
	}
	metadata := map[string]any{"resourceVersion": revision}
	if q.Get("resourceVersion") != "" && s.other != "" {
		metadata["resourceVersion"] = s.other
	}
	to := min(from+limit, len(items))
	if to < len(items) {
		metadata["continue"] = strconv.Itoa(to)
	}
	text, err := json.Marshal(map[string]any{"metadata": metadata, "items": items[from:to]})
	if err != nil {
		s.t.Error(err)
	}
	s.longest, s.mostPage = max(s.longest, len(text)), max(s.mostPage, to-from)
	_, _ = w.Write(text)
}

func object(namespace, name string, more map[string]any) map[string]any {
	o := map[string]any{"metadata": map[string]any{"name": name, "namespace": namespace, "uid": "u-" + name}}
	for key, value := range more {
		o[key] = value
	}
	return o
}

func definition(group, kind, plural string, versions ...map[string]any) map[string]any {
	return object("", plural+"."+group, map[string]any{"spec": map[string]any{"group": group, "names": map[string]any{"kind": kind, "plural": plural}, "versions": versions}})
}

func version(name string, served, storage bool) map[string]any {
	return map[string]any{"name": name, "served": served, "storage": storage}
}

func newServer(t *testing.T) *server {
	return &server{t: t, lists: map[string][]map[string]any{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
			definition("cluster.x-k8s.io", "Machine", "machines", version("v1beta1", true, false), version("v1beta2", true, true)),
			definition("infrastructure.cluster.x-k8s.io", "OpenStackMachine", "openstackmachines", version("v1alpha7", true, false), version("v1beta1", false, true)),
			definition("crd.projectcalico.org", "IPAMBlock", "ipamblocks", version("v1", true, true)),
			definition("cert-manager.io", "CertificateRequest", "certificaterequests", version("v1", true, true)),
		},
		"/api/v1/namespaces": {object("", "tenant", nil)},
		"/api/v1/secrets": {object("tenant", "c-ca", map[string]any{"type": "cluster.x-k8s.io/secret", "data": map[string]any{"a": "<&>"}}), object("tenant", "token", map[string]any{"type": "kubernetes.io/service-account-token"}),
			object("kube-system", "bootstrap-token-abc", map[string]any{"type": "bootstrap.kubernetes.io/token"}), object("kube-system", "n.node-password.k3s", nil)},
		"/api/v1/configmaps":                                               {object("tenant", "kube-root-ca.crt", nil), object("tenant", "cloud", nil)},
		"/apis/cluster.x-k8s.io/v1beta2/machines":                          {object("tenant", "m", map[string]any{"status": map[string]any{"phase": "Running"}})},
		"/apis/infrastructure.cluster.x-k8s.io/v1alpha7/openstackmachines": {object("tenant", "m", nil)},
	}}
}

func read(t *testing.T, s *server, o capture.Options) (capture.Result, *sink, error) {
	t.Helper()
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	into := &sink{}
	result, err := capture.Read(t.Context(), &rest.Config{Host: listening.URL}, o, into)
	return result, into, err
}

// TestRead: what counts, with status and what it is, all from one revision.
func TestRead(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	result, into, err := read(t, s, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CustomResourceDefinition /machines.cluster.x-k8s.io", "CustomResourceDefinition /openstackmachines.infrastructure.cluster.x-k8s.io",
		"CustomResourceDefinition /ipamblocks.crd.projectcalico.org", "CustomResourceDefinition /certificaterequests.cert-manager.io",
		"ConfigMap tenant/cloud", "Namespace /tenant", "Secret tenant/c-ca", "Machine tenant/m", "OpenStackMachine tenant/m"}
	if got := into.names(); !slices.Equal(got, want) {
		t.Errorf("read %q\nwant %q", got, want)
	}
	if result.Revision != revision || result.Kubernetes != "v1.34.4" || result.Objects != len(want) || result.Ended.IsZero() {
		t.Errorf("%+v", result)
	}
	for _, one := range s.asked[1:] {
		if !strings.HasSuffix(one, revision+"Exact") {
			t.Errorf("asked %s", one)
		}
	}
	for _, o := range into.objects {
		text := string(o.JSON)
		if o.Name == "m" && o.Kind == "Machine" && (!strings.Contains(text, `"apiVersion":"cluster.x-k8s.io/v1beta2"`) || !strings.Contains(text, `"phase":"Running"`)) || o.Name == "c-ca" && !strings.Contains(text, `"a":"<&>"`) && !strings.Contains(text, `\u003c`) {
			t.Errorf("%s", text)
		}
	}
}

// TestReadOtherGroups: the operator names more groups.
func TestReadOtherGroups(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.lists["/apis/crd.projectcalico.org/v1/ipamblocks"] = []map[string]any{object("", "block", nil)}
	_, into, err := read(t, s, capture.Options{Groups: []string{"crd.projectcalico.org"}})
	if err != nil || !slices.Contains(into.names(), "IPAMBlock /block") {
		t.Errorf("%q, %v", into.names(), err)
	}
}

// TestReadForgottenRevision: it begins anew, with nothing of before, and gives up
// with the cause.
func TestReadForgottenRevision(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.forget = 2
	_, into, err := read(t, s, capture.Options{})
	if err != nil || into.begun != 3 || len(into.objects) != 9 {
		t.Errorf("begun %d times, %d objects, %v", into.begun, len(into.objects), err)
	}
	s = newServer(t)
	s.forget = 100
	if _, _, err := read(t, s, capture.Options{}); err == nil || fault.Remedy(err) == "" || !strings.Contains(err.Error(), "revision") {
		t.Errorf("%v", err)
	}
}

// TestReadAnotherRevision: an API server that ignores what it is asked for is found.
func TestReadAnotherRevision(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.other = "9999"
	if _, _, err := read(t, s, capture.Options{}); err == nil || !strings.Contains(err.Error(), "revision 9999 instead of 4711") {
		t.Errorf("%v", err)
	}
}

// TestReadPages: long objects come in small pages and short ones in long pages.
func TestReadPages(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	long, short := strings.Repeat("x", 400<<10), []map[string]any{}
	for n := range 60 {
		s.lists["/api/v1/secrets"] = append(s.lists["/api/v1/secrets"], object("tenant", fmt.Sprintf("release-%03d", n), map[string]any{"data": map[string]any{"release": long}}))
	}
	for n := range 3000 {
		short = append(short, object("tenant", fmt.Sprintf("cm-%04d", n), nil))
	}
	s.lists["/api/v1/configmaps"] = short
	_, into, err := read(t, s, capture.Options{})
	if err != nil || len(into.objects) < 3060 {
		t.Fatalf("%d objects, %v", len(into.objects), err)
	}
	// The first page is of 25, before anything is known.
	if s.longest > 25*(400<<10)+1<<20 || s.mostPage < 500 || len(s.asked) > 60 {
		t.Errorf("the longest answer has %d bytes, the longest page %d objects, %d requests", s.longest, s.mostPage, len(s.asked))
	}
}

// TestReadRefused: what the API server refuses is named.
func TestReadRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	delete(s.lists, "/api/v1/secrets")
	if _, _, err := read(t, s, capture.Options{}); err == nil || !strings.Contains(err.Error(), "/api/v1/secrets") {
		t.Errorf("%v", err)
	}
}
