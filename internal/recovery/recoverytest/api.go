package recoverytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// API is an API server that keeps objects in memory: without controllers, schemas, watches and
// subresources. It serves Namespaces, Secrets, Pods and Deployments, and the kinds of the
// objects that it was given.
type API struct {
	// Config is that of its clients.
	Config *rest.Config

	mu      sync.Mutex
	made    int
	kinds   map[string][]metav1.APIResource // by group and version
	objects map[string]map[string]any       // by path
}

// Serve starts an API server that has some objects, until the test ends.
func Serve(t *testing.T, objects ...*unstructured.Unstructured) *API {
	t.Helper()
	a := &API{kinds: map[string][]metav1.APIResource{}, objects: map[string]map[string]any{}}
	a.Know("v1", "Namespace", false)
	a.Know("v1", "Secret", true)
	a.Know("v1", "Pod", true)
	a.Know("apps/v1", "Deployment", true)
	for _, o := range objects {
		a.Know(o.GetAPIVersion(), o.GetKind(), o.GetNamespace() != "")
		a.objects[placeOf(o)] = o.DeepCopy().Object
	}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.Config = &rest.Config{Host: s.URL}
	return a
}

// Know makes the server serve a kind. It must not be called once there are clients.
func (a *API) Know(version, kind string, namespaced bool) {
	if !slices.ContainsFunc(a.kinds[version], func(r metav1.APIResource) bool { return r.Kind == kind }) {
		a.kinds[version] = append(a.kinds[version], metav1.APIResource{Name: plural(kind), Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list", "create", "update"}})
	}
}

func plural(kind string) string { return strings.ToLower(kind) + "s" }

// rootOf is the path of a version.
func rootOf(version string) string {
	if !strings.Contains(version, "/") {
		return "/api/" + version
	}
	return "/apis/" + version
}

// placeOf is the path of an object.
func placeOf(o *unstructured.Unstructured) string {
	root := rootOf(o.GetAPIVersion())
	if o.GetNamespace() != "" {
		root += "/namespaces/" + o.GetNamespace()
	}
	return root + "/" + plural(o.GetKind()) + "/" + o.GetName()
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, code := a.discovery(r.URL.Path), http.StatusOK
	switch there := a.objects[r.URL.Path]; {
	case answer != nil:
	case r.Method == http.MethodGet && there != nil:
		answer = there
	case r.Method == http.MethodGet:
		answer = a.list(r.URL.Path)
	case r.Method == http.MethodPut && there != nil:
		answer = a.write(r, r.URL.Path)
	case r.Method == http.MethodPost:
		answer, code = a.create(r)
	}
	if answer == nil {
		answer, code = refusal(metav1.StatusReasonNotFound, http.StatusNotFound), http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// discovery says which kinds there are; nil is the answer to another question.
func (a *API) discovery(at string) any {
	version := strings.TrimPrefix(strings.TrimPrefix(at, "/api/"), "/apis/")
	switch {
	case at == "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case at == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for known := range a.kinds {
			if group, name, ok := strings.Cut(known, "/"); ok {
				list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: known, Version: name}}})
			}
		}
		return list
	case a.kinds[version] != nil:
		return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: a.kinds[version]}
	}
	return nil
}

// list are the objects of a kind, of one namespace or of all; nil if the path is of no kind.
func (a *API) list(at string) any {
	for version, kinds := range a.kinds {
		root := rootOf(version)
		for _, kind := range kinds {
			if path.Base(at) != kind.Name || !strings.HasPrefix(at, root+"/") {
				continue
			}
			items := []any{}
			for place, o := range a.objects {
				u := unstructured.Unstructured{Object: o}
				if u.GetAPIVersion() == version && u.GetKind() == kind.Kind && (path.Dir(place) == at || path.Dir(at) == root) {
					items = append(items, o)
				}
			}
			return map[string]any{"apiVersion": version, "kind": kind.Kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": items}
		}
	}
	return nil
}

// write stores the object of a request; nil if it is none.
func (a *API) write(r *http.Request, at string) any {
	o := map[string]any{}
	if json.NewDecoder(r.Body).Decode(&o) != nil {
		return nil
	}
	a.objects[at] = o
	return o
}

// create stores the object of a request under its name, unless there is one.
func (a *API) create(r *http.Request) (any, int) {
	o := &unstructured.Unstructured{}
	if json.NewDecoder(r.Body).Decode(&o.Object) != nil {
		return nil, 0
	}
	at := r.URL.Path + "/" + o.GetName()
	if a.objects[at] != nil {
		return refusal(metav1.StatusReasonAlreadyExists, http.StatusConflict), http.StatusConflict
	}
	a.made++
	metadata, _ := o.Object["metadata"].(map[string]any)
	metadata["uid"], metadata["generation"], metadata["resourceVersion"] = fmt.Sprintf("made-%d", a.made), 1, "1"
	a.objects[at] = o.Object
	return o.Object, http.StatusCreated
}

func refusal(reason metav1.StatusReason, code int32) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: code, Message: string(reason)}
}
