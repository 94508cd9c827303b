package router

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
)

// transport is the way to a member.
func (s *Server) transport(m *Member) http.RoundTripper {
	if m.Handler != nil {
		return inProcess{m.Handler}
	}
	return s.o.Transport
}

// inProcess is the way to an API that this process serves.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. The answer is in memory: those of the API are of one page.
func (p inProcess) RoundTrip(r *http.Request) (response *http.Response, err error) {
	w := &written{header: http.Header{}}
	defer func() {
		if problem := recover(); problem != nil { // net/http would end the connection, and this is none
			response, err = nil, fmt.Errorf("panic: %v\n%s", problem, debug.Stack())
		}
	}()
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close() //nolint:errcheck // it was read
	if r.Header.Get("X-Forwarded-Proto") == "https" {
		in.TLS = &tls.ConnectionState{} // links are to the address that the client used
	}
	p.handler.ServeHTTP(w, in)
	if err := r.Context().Err(); err != nil && w.status == 0 {
		return nil, err // who asked is gone, and got no answer
	}
	w.WriteHeader(http.StatusOK)
	return &http.Response{Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r}, nil
}

// written is an answer that is kept.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *written) Header() http.Header { return w.header }

func (w *written) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *written) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}
