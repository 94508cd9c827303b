package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
)

func refuse(status int, format string, args ...any) error {
	return &openstackapi.Error{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// headers are those of every answer of the API (SOL013, 4.2 and 9).
func (c *call) headers(kind string) http.Header {
	h := c.w.Header()
	h.Set("Version", callback.Version)
	h.Set("Accept-Ranges", "none")
	if kind != "" {
		h.Set("Content-Type", kind)
	}
	return h
}

func (c *call) reply(status int, body any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	if b.Len() > maxReply {
		return refuse(http.StatusBadRequest, "Response too big: it has %d bytes; ask for less by a filter.", b.Len())
	}
	c.headers("application/json").Set("Content-Length", strconv.Itoa(b.Len()))
	c.w.WriteHeader(status)
	c.w.Write(b.Bytes()) //nolint:errcheck // the client is gone
	return nil
}

// empty answers without a body; location is where the result is.
func (c *call) empty(status int, location string) error {
	h := c.headers("")
	if location != "" {
		h.Set("Location", location)
	}
	c.w.WriteHeader(status)
	return nil
}

func (c *call) created(location string, body any) error {
	c.w.Header().Set("Location", location)
	return c.reply(http.StatusCreated, body)
}

func (c *call) text(text string) error {
	c.headers("text/plain; charset=UTF-8").Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(http.StatusOK)
	c.w.Write([]byte(text)) //nolint:errcheck // the client is gone
	return nil
}

// fail writes the error as RFC 7807 has it.
func (c *call) fail() {
	if errors.Is(c.err, openstackapi.Answered{}) {
		return
	}
	var e *openstackapi.Error
	if !errors.As(c.err, &e) {
		e = openstackapi.Failure(c.err)
	}
	h := c.headers("application/problem+json")
	h.Del("Location")
	if e.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(openstackapi.RetrySeconds))
	}
	text, err := json.Marshal(view.Object{"status": e.Status, "title": http.StatusText(e.Status), "detail": e.Detail})
	if err != nil {
		text = []byte(`{}`)
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(e.Status)
	c.w.Write(text) //nolint:errcheck // the client is gone
}

func versions(all ...string) view.Object {
	list := []view.Object{}
	for _, v := range all {
		list = append(list, view.Object{"version": v, "isDeprecated": false})
	}
	return view.Object{"uriPrefix": "/vnflcm", "apiVersions": list}
}
