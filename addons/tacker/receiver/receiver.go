// Package receiver takes the credentials of workload clusters, which packages send, and
// registers each cluster as a VIM of Tacker.
package receiver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Path is where credentials are sent to.
const Path = "/v1/credentials"

// maxBody is how large a message may be.
const maxBody = 1 << 20

// Message is what a package sends; docs/guides/tacker.md has the schema.
type Message struct {
	Action         string `json:"action"`
	VNFInstanceID  string `json:"vnfInstanceId"`
	ClusterName    string `json:"clusterName"`
	Namespace      string `json:"namespace"`
	Endpoint       string `json:"endpoint,omitempty"`
	BearerToken    string `json:"bearer_token,omitempty"`
	Authority      string `json:"ssl_ca_cert,omitempty"`
	KubeconfigText string `json:"kubeconfig,omitempty"`
}

// The actions.
const (
	Created = "created"
	Deleted = "deleted"
)

// VIM is a cluster as Tacker gets it.
type VIM struct{ Name, Description, Endpoint, BearerToken, Authority string }

// Registry is where VIMs are registered.
type Registry interface {
	// Register makes a VIM, or gives the one of its name these data.
	Register(ctx context.Context, v VIM) error
	// Remove deletes the VIM of that name, if there is one.
	Remove(ctx context.Context, name string) error
	// Description is that of the VIM of a name; "" if there is none.
	Description(ctx context.Context, name string) (string, error)
}

// Server receives messages.
type Server struct {
	registry Registry
	token    [sha256.Size]byte
	log      *slog.Logger
	// one message at a time: a script may send one again while the first is worked on.
	mu sync.Mutex
}

// New returns a server that takes messages with a token.
func New(registry Registry, token string, log *slog.Logger) (*Server, error) {
	if len(token) < 16 {
		return nil, errors.New("the token has fewer than 16 characters")
	}
	return &Server{registry: registry, token: sha256.Sum256([]byte(token)), log: log}, nil
}

// ServeHTTP answers 204 when a VIM is registered or removed. 4xx is a mistake in the
// message; with 5xx the script sends it again.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST "+Path, s.receive)
	mux.ServeHTTP(w, r)
}

func (s *Server) receive(w http.ResponseWriter, r *http.Request) {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	if !ok || subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 {
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.answer(w, http.StatusUnauthorized, "the token is missing or wrong")
		return
	}
	m, err := read(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		s.answer(w, http.StatusBadRequest, err.Error())
		return
	}
	if err := s.handle(r.Context(), m); err != nil {
		status, text := http.StatusBadGateway, "Tacker did not take the VIM: see the receiver's log"
		if taken := new(takenError); errors.As(err, &taken) {
			status, text = http.StatusConflict, taken.Error()
		}
		s.log.Error("a VIM is not changed", "action", m.Action, "vim", m.name(), "vnf_instance", m.VNFInstanceID, "error", err.Error())
		s.answer(w, status, text)
		return
	}
	s.log.Info("a VIM is changed", "action", m.Action, "vim", m.name(), "vnf_instance", m.VNFInstanceID)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) handle(ctx context.Context, m Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	described, err := s.registry.Description(ctx, m.name())
	if err != nil {
		return err
	}
	other := m.another(described)
	switch {
	case m.Action == Deleted && other != "":
		return nil // it never had a VIM
	case m.Action == Deleted:
		return s.registry.Remove(ctx, m.name())
	case other != "":
		return &takenError{m.name(), other}
	}
	return s.registry.Register(ctx, VIM{Name: m.name(), Description: m.cluster() + ofInstance + m.VNFInstanceID, Endpoint: m.Endpoint, BearerToken: m.BearerToken, Authority: m.Authority})
}

// takenError is that a VIM of the name is that of another cluster.
type takenError struct{ name, of string }

// Error says what to do.
func (e *takenError) Error() string {
	return fmt.Sprintf("VIM %s is that of %s: give one of the two clusters another name", e.name, e.of)
}

// name is the VIM's: that of the cluster's object, so that it is the same in every
// message about it.
func (m Message) name() string { return m.Namespace + "-" + m.ClusterName }

// ofInstance parts the cluster from the instance in a description.
const ofInstance = ", of VNF instance "

// cluster says which cluster it is. The name of the VIM does not: cluster c in namespace a-b has
// that of cluster b-c in namespace a.
func (m Message) cluster() string {
	return "cluster " + m.ClusterName + " in namespace " + m.Namespace
}

// another is the cluster that a VIM is described as that of; "" if it is that of the message, or
// the description is none of these, as an earlier release's.
func (m Message) another(description string) string {
	cluster, _, ok := strings.Cut(description, ofInstance)
	if !ok || cluster == m.cluster() {
		return ""
	}
	return cluster
}

// read reads a message strictly and returns all its mistakes.
func read(body io.Reader) (Message, error) {
	var m Message
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return m, fmt.Errorf("reading the message: %w", err)
	}
	var wrong []error
	need := map[string]string{"vnfInstanceId": m.VNFInstanceID, "clusterName": m.ClusterName, "namespace": m.Namespace}
	keys := []string{"vnfInstanceId", "clusterName", "namespace"}
	switch m.Action {
	case Created:
		need["endpoint"], need["bearer_token"], need["ssl_ca_cert"] = m.Endpoint, m.BearerToken, m.Authority
		keys = append(keys, "endpoint", "bearer_token", "ssl_ca_cert")
		if at, err := url.Parse(m.Endpoint); m.Endpoint != "" && (err != nil || at.Scheme != "https" || at.Host == "") {
			wrong = append(wrong, errors.New("endpoint: this is not an https:// URL"))
		}
	case Deleted:
	default:
		wrong = append(wrong, errors.New("action: it is neither created nor deleted"))
	}
	for _, key := range keys {
		if need[key] == "" {
			wrong = append(wrong, errors.New(key+": it is missing"))
		}
	}
	return m, errors.Join(wrong...)
}

// answer writes an error; its text never repeats what was sent but for keys, and names.
func (s *Server) answer(w http.ResponseWriter, status int, text string) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(map[string]string{"message": text}); err != nil {
		b.Reset()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the client is gone
}
