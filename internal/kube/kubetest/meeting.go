package kubetest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Meeting is the transport to an API server that answers no question before enough of them
// wait, and all from then on. Who asks one question after the other gets no answer until its
// context ends, so that a test of what is asked side by side needs no clock.
type Meeting struct {
	// Wanted is how many questions must wait at the same time.
	Wanted int
	// First are the questions that are answered at once: what is asked alone, to open the
	// connection or to know what to ask. Nil is none.
	First func(r *http.Request) bool
	// Answer returns the status and the JSON of an answer; nil is an empty list.
	Answer func(r *http.Request) (code int, body string)

	once  sync.Once
	met   chan struct{}
	mu    sync.Mutex
	asked []string
	here  int
}

// RoundTrip implements http.RoundTripper.
func (m *Meeting) RoundTrip(r *http.Request) (*http.Response, error) {
	m.once.Do(func() { m.met = make(chan struct{}) })
	alone := m.First != nil && m.First(r)
	m.arrive(r, alone)
	if !alone {
		select {
		case <-m.met:
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
	code, body := http.StatusOK, `{"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []}`
	if m.Answer != nil {
		code, body = m.Answer(r)
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (m *Meeting) arrive(r *http.Request, alone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r.URL.Path)
	if alone {
		return
	}
	if m.here++; m.here == m.Wanted {
		close(m.met)
	}
}

// Asked are the paths of all questions, in the order in which they came.
func (m *Meeting) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.asked...)
}
