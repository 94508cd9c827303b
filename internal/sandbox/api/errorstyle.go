package api

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
)

// ErrorStyle writes an error in the form of one service.
type ErrorStyle func(e *Error) (contentType string, body []byte)

const contentJSON = "application/json"

// KeystoneErrors is {"error": {"code", "title", "message"}}. All services answer 401 like this,
// because the same middleware answers for all of them.
func KeystoneErrors(e *Error) (string, []byte) {
	return contentJSON, encode(map[string]any{"error": map[string]any{
		"code": e.Status, "title": http.StatusText(e.Status), "message": e.Message,
	}})
}

// NovaErrors is {"itemNotFound": {"code", "message"}}, the form of Nova and Cinder.
func NovaErrors(e *Error) (string, []byte) {
	kind := e.Kind
	if kind == "" {
		kind = novaKind(e.Status)
	}
	return contentJSON, encode(map[string]any{kind: map[string]any{"code": e.Status, "message": e.Message}})
}

func novaKind(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "badRequest"
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "itemNotFound"
	case http.StatusMethodNotAllowed:
		return "badMethod"
	case http.StatusConflict:
		return "conflictingRequest"
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return "overLimit"
	case http.StatusUnsupportedMediaType:
		return "badMediaType"
	case http.StatusNotImplemented:
		return "notImplemented"
	case http.StatusServiceUnavailable:
		return "serviceUnavailable"
	}
	return "computeFault"
}

// NeutronErrors is {"NeutronError": {"type", "message", "detail"}}.
func NeutronErrors(e *Error) (string, []byte) {
	kind := e.Kind
	if kind == "" {
		kind = neutronKind(e.Status)
	}
	return contentJSON, encode(map[string]any{"NeutronError": map[string]any{
		"type": kind, "message": e.Message, "detail": "",
	}})
}

func neutronKind(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "HTTPBadRequest"
	case http.StatusForbidden:
		return "PolicyNotAuthorized"
	case http.StatusNotFound:
		return "HTTPNotFound"
	case http.StatusConflict:
		return "Conflict"
	}
	return "HTTPInternalServerError"
}

// OctaviaErrors is {"faultcode", "faultstring", "debuginfo"}.
func OctaviaErrors(e *Error) (string, []byte) {
	code := "Client"
	if e.Status >= http.StatusInternalServerError {
		code = "Server"
	}
	return contentJSON, encode(map[string]any{"faultcode": code, "faultstring": e.Message, "debuginfo": nil})
}

// BarbicanErrors is {"code", "title", "description"}.
func BarbicanErrors(e *Error) (string, []byte) {
	return contentJSON, encode(map[string]any{
		"code": e.Status, "title": http.StatusText(e.Status), "description": e.Message,
	})
}

// PlacementErrors is {"errors": [{"status", "title", "detail"}]}.
func PlacementErrors(e *Error) (string, []byte) {
	code := e.Kind
	if code == "" {
		code = "placement.undefined_code"
	}
	return contentJSON, encode(map[string]any{"errors": []any{map[string]any{
		"status": e.Status, "title": http.StatusText(e.Status), "detail": e.Message, "code": code,
	}}})
}

// HTMLErrors is the HTML page of Glance and Swift.
func HTMLErrors(e *Error) (string, []byte) {
	title := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	return "text/html; charset=UTF-8", fmt.Appendf(nil,
		"<html>\n <head>\n  <title>%s</title>\n </head>\n <body>\n  <h1>%s</h1>\n  %s<br /><br />\n\n\n </body>\n</html>",
		title, title, html.EscapeString(e.Message))
}

// encode writes JSON; bodies have only values that can always be encoded.
func encode(body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		return []byte("{}")
	}
	return text
}
