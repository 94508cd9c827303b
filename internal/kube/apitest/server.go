// Package apitest gives tests a Kubernetes API server in memory, for what need not wait for a real
// one (package kubetest has that): it keeps objects of all kinds, tells who watches, and has done
// at once what controllers do. It judges nothing: every object is right.
package apitest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Server is an API server. Its fields are set before it is asked.
type Server struct {
	*httptest.Server
	// Refuse, if not nil, may refuse a request: with a status and a reason of Kubernetes', such as
	// 404 and "NotFound". 0 lets it pass.
	Refuse func(r *http.Request) (code int, reason string)
	// Control is what controllers do with what is written: Works, if nothing else is set.
	// It may give other objects besides.
	Control func(o *unstructured.Unstructured) (more []*unstructured.Unstructured)

	mu      sync.Mutex
	kinds   map[schema.GroupVersion][]resource
	objects map[place]*unstructured.Unstructured
	// made are what controllers made of an object: they go with it.
	made   map[place][]place
	events []event
	// changed is closed at the next event.
	changed chan struct{}
	changes []string
}

// place is where an object is.
type place struct {
	schema.GroupVersionResource
	namespace, name string
}

// event is a change of an object.
type event struct {
	kind   string
	at     place
	object map[string]any
}

// Start starts a server that has the kinds of Kubernetes, and the namespace default.
func Start(t *testing.T) *Server {
	t.Helper()
	s := &Server{kinds: builtIn(), objects: map[place]*unstructured.Unstructured{}, made: map[place][]place{}, changed: make(chan struct{}), Control: Works}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true // as of Kubernetes: one handshake for all that is asked at once
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections() // of those who watch
		s.Close()
	})
	s.Put("apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n")
	return s
}

// Kubeconfig is that of its administrator.
func (s *Server) Kubeconfig() string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n", s.URL, base64.StdEncoding.EncodeToString(authority))
}

// Put writes the object of a YAML document as it is.
func (s *Server) Put(text string) {
	o := &unstructured.Unstructured{}
	if err := read([]byte(text), o); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.placeOf(o), o)
}

// Define has the server serve kinds whose objects are in namespaces, such as "Issuer", of a version
// of a group, such as "cert-manager.io/v1".
func (s *Server) Define(version string, kinds ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range kinds {
		of := schema.FromAPIVersionAndKind(version, kind)
		plural, _ := meta.UnsafeGuessKindToResource(of)
		s.kinds[of.GroupVersion()] = append(s.kinds[of.GroupVersion()], resource{kind, plural.Resource, true})
	}
}

// Get returns an object, nil if there is none; the path is "deployments ns/name".
func (s *Server) Get(path string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, o := range s.objects {
		if at.path() == path {
			return o.DeepCopy()
		}
	}
	return nil
}

// Paths are those of all objects, in order.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for at := range s.objects {
		all = append(all, at.path())
	}
	slices.Sort(all)
	return all
}

// Changes are the requests so far that were to change something, as "DELETE deployments ns/name".
func (s *Server) Changes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changes)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if s.Refuse != nil {
		if code, reason := s.Refuse(r); code != 0 {
			refuse(w, code, reason)
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if s.discover(w, r.URL.Path) {
		return
	}
	s.mu.Lock()
	at, kind, known := s.parse(r.URL.Path)
	s.mu.Unlock()
	switch {
	case !known:
		refuse(w, http.StatusNotFound, "NotFound")
	case r.Method == http.MethodGet && at.name == "":
		s.list(w, r, at, kind)
	default:
		s.one(w, r, at, body)
	}
}

// one answers a request for one object.
func (s *Server) one(w http.ResponseWriter, r *http.Request, at place, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	given, err := given(r, body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if r.Method == http.MethodPost && at.name == "" {
		at.name = given.GetName()
	}
	there := s.objects[at]
	applies := strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
	if r.Method != http.MethodGet {
		s.changes = append(s.changes, r.Method+" "+at.path())
	}
	switch {
	case strings.HasSuffix(at.Resource, "reviews"): // a question; nothing is kept
		s.Control(given)
		there = given
	case there == nil && r.Method != http.MethodPost && !applies:
		refuse(w, http.StatusNotFound, "NotFound")
		return
	case there != nil && r.Method == http.MethodPost:
		refuse(w, http.StatusConflict, "AlreadyExists")
		return
	case r.URL.Query().Get("dryRun") != "":
		there = given
	case r.Method == http.MethodDelete:
		s.remove(at)
	case r.Method == http.MethodPatch && there != nil:
		now := there.DeepCopy()
		merge(now.Object, given.Object)
		there = s.write(at, now)
	case r.Method != http.MethodGet:
		there = s.write(at, given)
	}
	answer(w, there.Object)
}

// list answers who lists, or watches.
func (s *Server) list(w http.ResponseWriter, r *http.Request, at place, kind string) {
	query := r.URL.Query()
	if query.Get("watch") != "" {
		s.watch(w, r, at)
		return
	}
	s.mu.Lock()
	items := []any{}
	for _, other := range s.sorted() {
		if o := s.objects[other]; other.in(at) && chosen(query, o.Object) {
			items = append(items, o.Object)
		}
	}
	list := map[string]any{"apiVersion": at.GroupVersion().String(), "kind": kind + "List", "metadata": map[string]any{"resourceVersion": fmt.Sprint(len(s.events))}, "items": items}
	text, err := json.Marshal(list)
	s.mu.Unlock()
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

// watch tells of changes until the client goes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, at place) {
	if r.URL.Query().Get("sendInitialEvents") != "" { // a list does too
		refuse(w, http.StatusUnprocessableEntity, "Invalid")
		return
	}
	next := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("resourceVersion"), &next)
	for {
		s.mu.Lock()
		var text []byte
		for ; next < len(s.events); next++ {
			if e := s.events[next]; e.at.in(at) && chosen(r.URL.Query(), e.object) {
				line, _ := json.Marshal(map[string]any{"type": e.kind, "object": e.object})
				text = append(append(text, line...), '\n')
			}
		}
		changed := s.changed
		s.mu.Unlock()
		_, _ = w.Write(text)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// given is the object that a request has, nothing if it has none. Clients send kinds of Kubernetes
// as protobuf, too.
func given(r *http.Request, body []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodDelete || len(body) == 0:
		return o, nil
	case !strings.Contains(r.Header.Get("Content-Type"), "protobuf"):
		return o, read(body, o)
	}
	typed, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	o.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	o.SetGroupVersionKind(*kind)
	return o, err
}

// read reads YAML as Kubernetes does: whole numbers stay so.
func read(text []byte, o *unstructured.Unstructured) error {
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(asJSON, &o.Object)
}
