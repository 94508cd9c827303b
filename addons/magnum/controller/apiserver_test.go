package controller

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// apiServer keeps Secrets, in which Helm has its records, and serves nothing else.
type apiServer struct {
	t       *testing.T
	mu      sync.Mutex
	secrets map[string]*corev1.Secret
	// refuses all questions about Secrets.
	refuses bool
}

func serve(t *testing.T) (*apiServer, *rest.Config) {
	t.Helper()
	s := &apiServer{t: t, secrets: map[string]*corev1.Secret{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, &rest.Config{Host: server.URL}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/version":
		s.answer(w, http.StatusOK, map[string]any{"major": "1", "minor": "34", "gitVersion": "v1.34.2"})
	case r.URL.Path == "/api":
		s.answer(w, http.StatusOK, metav1.APIVersions{Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		s.answer(w, http.StatusOK, metav1.APIGroupList{})
	case r.URL.Path == "/api/v1":
		s.answer(w, http.StatusOK, metav1.APIResourceList{GroupVersion: "v1"})
	case r.URL.Path == "/api/v1/namespaces":
		s.answer(w, http.StatusCreated, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{}})
	case strings.Contains(r.URL.Path, "/secrets") && s.refuses:
		s.status(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case strings.HasSuffix(r.URL.Path, "/secrets"):
		s.several(w, r)
	case strings.Contains(r.URL.Path, "/secrets/"):
		s.one(w, r)
	default:
		s.t.Errorf("asked for %s %s", r.Method, r.URL.Path)
	}
}

func (s *apiServer) answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.t.Error(err)
	}
}

func (s *apiServer) status(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	s.answer(w, int(code), metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: reason, Message: "not for you", Code: code})
}

// read is the Secret of a request, in whatever encoding the client has chosen.
func (s *apiServer) read(r *http.Request) *corev1.Secret {
	secret := &corev1.Secret{}
	text, err := io.ReadAll(r.Body)
	if err == nil {
		_, _, err = clientscheme.Codecs.UniversalDeserializer().Decode(text, nil, secret)
	}
	if err != nil {
		s.t.Error(err)
	}
	secret.APIVersion, secret.Kind = "v1", "Secret"
	return secret
}

// several lists the Secrets of a namespace, or makes one.
func (s *apiServer) several(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		secret := s.read(r)
		s.secrets[r.URL.Path+"/"+secret.Name] = secret
		s.answer(w, http.StatusCreated, secret)
		return
	}
	chosen, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		s.t.Error(err)
	}
	list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for at, secret := range s.secrets {
		if path.Dir(at) == r.URL.Path && chosen.Matches(labels.Set(secret.Labels)) {
			list.Items = append(list.Items, *secret)
		}
	}
	s.answer(w, http.StatusOK, list)
}

// one reads, changes or deletes a Secret.
func (s *apiServer) one(w http.ResponseWriter, r *http.Request) {
	secret := s.secrets[r.URL.Path]
	switch {
	case secret == nil:
		s.status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case r.Method == http.MethodPut:
		secret = s.read(r)
		s.secrets[r.URL.Path] = secret
	case r.Method == http.MethodDelete:
		delete(s.secrets, r.URL.Path)
	}
	s.answer(w, http.StatusOK, secret)
}
