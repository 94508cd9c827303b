// Package statetest is an HTTP server for states in tests: Terraform's protocol, as its
// reference servers and GitLab speak it, with faults.
package statetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// GitLabPath is the path of a state on a Server that is GitLab.
const GitLabPath = "/api/v4/projects/12/terraform/state/production"

// The login that a Server requires.
const (
	Username = "gitlab-ci-token"
	Password = "a-token-that-nobody-may-see"
)

// Fault changes what a Server does with one request. It reports whether it has answered.
type Fault func(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter)) bool

// Server has one state.
type Server struct {
	// URL is the state's.
	URL string
	// GitLab makes locks have GitLab's address and verbs.
	gitlab bool

	mu       sync.Mutex
	document []byte
	lock     map[string]any
	serials  map[float64]bool
	requests []string
	fault    Fault
}

// Start runs a server until the test ends.
func Start(t testing.TB, gitlab bool) *Server {
	t.Helper()
	s := &Server{gitlab: gitlab, serials: map[float64]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/states/production"
	if gitlab {
		s.URL = server.URL + GitLabPath
	}
	return s
}

// Environ returns the login of clients.
func Environ() []string {
	return []string{"TF_HTTP_USERNAME=" + Username, "TF_HTTP_PASSWORD=" + Password}
}

// Break sets what fails from now on; nil means nothing.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Put replaces the document, and Hold the lock, behind the clients' backs.
func (s *Server) Put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.document = []byte(text)
}

// Hold sets the lock; nil removes it.
func (s *Server) Hold(lock map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lock = lock
}

// Document returns the document on the server.
func (s *Server) Document() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.document
}

// Locked reports whether somebody holds the lock.
func (s *Server) Locked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock != nil
}

// Requests returns the requests with their paths.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := make(map[string]any)
	var text []byte
	if r.Body != nil {
		text = readAll(r)
		_ = json.Unmarshal(text, &body)
	}
	s.mu.Lock()
	fault := s.fault
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	serve := func(w http.ResponseWriter) { s.serve(w, r, text, body) }
	if fault != nil && fault(w, r, serve) {
		return
	}
	serve(w)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, text []byte, body map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, password, _ := r.BasicAuth()
	if user != Username || password != Password {
		http.Error(w, `{"message":"401 Unauthorized"}`, http.StatusUnauthorized)
		return
	}
	method := r.Method
	if strings.HasSuffix(r.URL.Path, "/lock") {
		method = map[string]string{http.MethodPost: "LOCK", http.MethodDelete: "UNLOCK"}[method]
	} else if s.gitlab && (method == "LOCK" || method == "UNLOCK") {
		method = ""
	}
	id := r.URL.Query().Get("ID")
	switch method {
	case http.MethodGet:
		if s.document == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = w.Write(s.document)
	case http.MethodPost:
		s.write(w, id, text, body)
	case http.MethodDelete:
		if s.holds(w, id) {
			s.document, s.serials = nil, map[float64]bool{}
			if s.gitlab {
				s.lock = nil
			}
		}
	case "LOCK":
		s.take(w, body)
	case "UNLOCK":
		if given, _ := body["ID"].(string); given != "" {
			id = given
		}
		if s.lock == nil || s.holds(w, id) {
			s.lock = nil
		}
	default:
		http.Error(w, "405 Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

// write refuses a serial that was used before, as GitLab does, where it is the key of a version.
func (s *Server) write(w http.ResponseWriter, id string, text []byte, body map[string]any) {
	if !s.holds(w, id) {
		return
	}
	serial, _ := body["serial"].(float64)
	if s.gitlab && (serial == 0 || s.serials[serial]) {
		http.Error(w, `{"message":"Version has already been taken"}`, http.StatusUnprocessableEntity)
		return
	}
	s.document, s.serials[serial] = text, true
}

// holds answers with a conflict if the lock has another ID; if there is no lock, a change needs no
// ID.
func (s *Server) holds(w http.ResponseWriter, id string) bool {
	held, _ := s.lock["ID"].(string)
	if held == id {
		return true
	}
	s.refuse(w)
	return false
}

func (s *Server) take(w http.ResponseWriter, body map[string]any) {
	for _, field := range []string{"ID", "Operation", "Info", "Who", "Version", "Created", "Path"} {
		if text, _ := body[field].(string); s.gitlab && text == "" {
			http.Error(w, `{"error":"`+field+` is missing"}`, http.StatusBadRequest)
			return
		}
	}
	if s.lock != nil {
		s.refuse(w)
		return
	}
	s.lock = body
	if s.gitlab { // GitLab keeps the ID alone, and its own user
		s.lock = map[string]any{"ID": body["ID"], "Who": "root", "Created": "2026-11-25T10:00:00.000Z"}
	}
}

func (s *Server) refuse(w http.ResponseWriter) {
	status := http.StatusLocked
	if s.gitlab {
		status = http.StatusConflict
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(s.lock)
}
