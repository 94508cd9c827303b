package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// maxBody bounds a JSON body, in bytes: user data of 64 KiB in base64,
// personality files and a secret's payload fit well.
const maxBody = 1 << 20

// Decode reads the body as JSON into a pointer. For a body that is malformed, too long, or of a
// wrong type it gives the error that the handler returns.
func (c *Call) Decode(into any) error {
	text, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return Errorf(http.StatusRequestEntityTooLarge, "", "Request is too large.")
	case err != nil:
		return BadRequest("The request body could not be read.")
	}
	return decode(text, into)
}

// DecodeIn reads the object under the key of the body, because most calls wrap their object:
// {"server": {…}}.
func (c *Call) DecodeIn(key string, into any) error {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	inner, ok := body[key]
	if !ok || bytes.Equal(inner, []byte("null")) {
		return BadRequest("Invalid input: %q is a required property", key)
	}
	return decode(inner, into)
}

func decode(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var wrong *json.UnmarshalTypeError
	var own *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &wrong):
		return BadRequest("Invalid input for field/attribute %s. Value: a JSON %s is not of type %s", wrong.Field, wrong.Value, wrong.Type)
	}
	return BadRequest("The server could not comply with the request since it is either malformed or otherwise incorrect. Malformed request body: %v", err)
}

// Optional is a field of an update that may be absent, null or a value.
type Optional[T any] struct {
	Set, Null bool
	Value     T
}

// UnmarshalJSON is called only when the field is present.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	o.Set = true
	if bytes.Equal(text, []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(text, &o.Value)
}

// Apply sets the target when the field was present; null sets the zero value.
func (o Optional[T]) Apply(target *T) {
	if o.Set {
		*target = o.Value
	}
}

// Or returns the value, or the default when the field was absent or null.
func (o Optional[T]) Or(def T) T {
	if o.Set && !o.Null {
		return o.Value
	}
	return def
}
