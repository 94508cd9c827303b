package keymanager

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const (
	plainText = "text/plain"
	octets    = "application/octet-stream"
	// maxPayload is Barbican's default limit in bytes.
	maxPayload = 20_000
)

// payloadInput is a payload inside a JSON body.
type payloadInput struct {
	Payload     *string `json:"payload"`
	ContentType string  `json:"payload_content_type"`
	Encoding    string  `json:"payload_content_encoding"`
}

// read returns the payload's bytes, nil when there is none.
func (in payloadInput) read() ([]byte, error) {
	switch {
	case in.Payload == nil && in.ContentType != "":
		return nil, mismatch("Secret", "payload", "payload must be provided when payload_content_type is supplied")
	case in.Payload == nil:
		return nil, nil
	case strings.TrimSpace(*in.Payload) == "":
		return nil, mismatch("Secret", "payload", "If 'payload' specified, must be non empty")
	case in.ContentType == "":
		return nil, mismatch("Secret", "payload_content_type", "If 'payload' is supplied, 'payload_content_type' must also be supplied.")
	}
	kind, ok := mediaType(in.ContentType)
	switch {
	case !ok:
		return nil, mismatch("Secret", "payload_content_type", "payload_content_type %s is not one of %v", in.ContentType, []string{plainText, octets})
	case kind == octets && in.Encoding != "base64":
		return nil, mismatch("Secret", "payload_content_encoding",
			"payload_content_encoding must be specified when payload_content_type is application/octet-stream.")
	case kind == plainText && in.Encoding != "":
		return nil, mismatch("Secret", "payload_content_encoding", "payload_content_encoding must not be specified when payload_content_type is text/plain")
	case kind == plainText:
		return []byte(*in.Payload), nil
	}
	return decode64(*in.Payload)
}

func decode64(payload string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(payload))
	if err != nil {
		return nil, mismatch("Secret", "payload", "Invalid payload for payload_content_encoding")
	}
	return decoded, nil
}

// mediaType returns a content type without its parameters, if it is one that
// payloads can have. Text is in UTF-8 always.
func mediaType(value string) (string, bool) {
	kind, parameters, err := mime.ParseMediaType(value)
	if err != nil || (kind != plainText && kind != octets) {
		return "", false
	}
	charset := strings.ToLower(parameters["charset"])
	return kind, charset == "" || charset == "utf-8"
}

// fill encrypts a payload into a secret; nil leaves it without.
func (s *service) fill(v *model.Secret, contentType string, payload []byte) (err error) {
	if payload == nil {
		return nil
	}
	if len(payload) > maxPayload {
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Provided information too large to process")
	}
	v.ContentType, _ = mediaType(contentType)
	v.Sealed, err = s.vault.seal(v.ID, payload)
	return err
}

func (s *service) payloadRoutes() []api.Route {
	return []api.Route{{Pattern: "GET /v1/secrets/{id}/payload", Role: api.Token, Handle: s.getPayload}}
}

func (s *service) getPayload(c *api.Call) error {
	var v model.Secret
	err := c.View(func(r store.Reader) (err error) {
		v, err = s.secret(c, r, "payload retrieval", mayDecrypt)
		return err
	})
	if err != nil {
		return err
	}
	return s.writePayload(c, v)
}

// writePayload answers with the payload as the caller accepts it: bytes as
// they are, or text if they are that.
func (s *service) writePayload(c *api.Call, v model.Secret) error {
	if !mayDecrypt(c, v.KeyMeta, v.ACL) {
		return denied("Secret", "payload retrieval")
	}
	if len(v.Sealed) == 0 {
		return api.NotFound("Not Found. Sorry but your secret has no payload.")
	}
	payload, err := s.vault.unseal(v.ID, v.Sealed)
	if err != nil {
		return err
	}
	kind := v.ContentType
	if accept := c.Request.Header.Get("Accept"); accept != "" {
		if kind = accepted(accept, v.ContentType); kind == "" || kind == plainText && !utf8.Valid(payload) {
			return api.Errorf(http.StatusNotAcceptable, "", "Secret payload retrieval issue seen - accept header of %q is not supported.", accept)
		}
	}
	c.Writer.Header().Set("Content-Type", kind)
	c.Writer.Header().Set("Cache-Control", "no-store")
	c.Writer.WriteHeader(http.StatusOK)
	_, _ = c.Writer.Write(payload) // the client may have gone
	return nil
}

// accepted returns the first type of an Accept header that payloads can have.
func accepted(accept, own string) string {
	for _, part := range strings.Split(accept, ",") {
		kind, _, err := mime.ParseMediaType(part)
		switch {
		case err != nil:
		case kind == plainText || kind == octets:
			return kind
		case kind == "*/*":
			return own
		}
	}
	return ""
}

// putPayload is the second of two steps: a secret that was stored without a
// payload gets one, once.
func (s *service) putPayload(c *api.Call) error {
	kind, ok := mediaType(c.Request.Header.Get("Content-Type"))
	if !ok {
		return api.Errorf(http.StatusUnsupportedMediaType, "", "Content-Type of %q is not supported for PUT.", c.Request.Header.Get("Content-Type"))
	}
	payload, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, 2*maxPayload))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Provided information too large to process")
	case err != nil:
		return api.BadRequest("The request body could not be read.")
	case len(payload) == 0:
		return api.BadRequest("No payload found.")
	}
	switch encoding := c.Request.Header.Get("Content-Encoding"); {
	case encoding == "base64" && kind == octets:
		if payload, err = decode64(string(payload)); err != nil {
			return err
		}
	case encoding != "":
		return api.BadRequest("Content-Encoding of %q is not supported.", encoding)
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.secret(c, tx, "payload update", mayDelete)
		if err != nil {
			return err
		}
		if len(v.Sealed) > 0 {
			return api.Conflict("Secret already has data, cannot modify it.")
		}
		v.Updated = s.now()
		if err := s.fill(&v, kind, payload); err != nil {
			return err
		}
		s.model.Secrets.Put(tx, v)
		return c.Reply(http.StatusNoContent, nil)
	})
}
