package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// inject makes the call fail if a fault rule says so, and reports whether it has answered the call.
func (s *Server) inject(c *Call, below string) bool {
	if !s.env.Faults.Any(faultinject.API) {
		return false
	}
	rule, hit := s.env.Faults.Check(faultinject.Occasion{Kind: faultinject.API, Service: c.Service.Type,
		Method: c.Request.Method, Path: below, Names: s.names(c, below)})
	if !hit {
		return false
	}
	if rule.Delay > 0 {
		select {
		case <-c.Context().Done():
		case <-s.env.Timing.Clock.After(time.Duration(rule.Delay)):
		}
	}
	switch {
	case rule.Drop:
		panic(http.ErrAbortHandler) // how net/http closes a connection without an answer
	case rule.Status == 0:
		return false
	case rule.Body == "":
		s.fail(c, Errorf(rule.Status, "", "Fault rule %s lets this call fail.", rule.ID))
	default:
		contentType := "text/plain; charset=utf-8"
		if json.Valid([]byte(rule.Body)) {
			contentType = contentJSON
		}
		s.write(c, rule.Status, contentType, []byte(rule.Body))
	}
	return true
}

// names returns the names of the resources whose ids are in the path, and the name in the body.
func (s *Server) names(c *Call, below string) []string {
	var names []string
	_ = s.env.Store.View(func(r store.Reader) error {
		for _, id := range strings.Split(below, "/") {
			if name, ok := s.env.Store.NameOf(r, id); ok {
				names = append(names, name)
			}
		}
		return nil
	})
	if !strings.HasPrefix(c.Request.Header.Get("Content-Type"), contentJSON) {
		return names
	}
	text, err := io.ReadAll(io.LimitReader(c.Request.Body, maxBody+1))
	c.Request.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), c.Request.Body), c.Request.Body}
	if err != nil {
		return names
	}
	return append(names, bodyNames(text)...)
}

// bodyNames finds "name" in an object, or in the objects that it wraps.
func bodyNames(text []byte) []string {
	var body map[string]json.RawMessage
	if json.Unmarshal(text, &body) != nil {
		return nil
	}
	var names []string
	add := func(raw json.RawMessage) {
		var name string
		if json.Unmarshal(raw, &name) == nil && name != "" {
			names = append(names, name)
		}
	}
	add(body["name"])
	for _, raw := range body {
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) == nil {
			add(inner["name"])
		}
	}
	return names
}
