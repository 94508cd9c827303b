package openstackapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"unicode/utf8"
)

// Body reads a body of JSON with one of the media types; nil is an empty one. Who calls
// has bounded it by http.MaxBytesReader.
func Body(r *http.Request, types ...string) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The body is larger than %d bytes.", tooLarge.Limit)}
	case err != nil:
		return nil, &Error{Status: http.StatusBadRequest, Detail: "The body could not be read."}
	case len(bytes.TrimSpace(body)) == 0:
		return nil, nil
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(types, media) {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Detail: "The body must be " + types[0] + "."}
	}
	if !utf8.Valid(body) {
		return nil, &Error{Status: http.StatusBadRequest, Detail: "The body is not UTF-8."}
	}
	return body, nil
}
