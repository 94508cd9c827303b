package openstackapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// Audit is an answer for the audit log.
type Audit struct {
	Request   *http.Request
	RequestID string
	Status    int
	Took      time.Duration
	// Token is nil if nobody has been recognised, Object what it was about.
	Token  *keystone.Token
	Object string
	// Reason is what went wrong; "" is nothing.
	Reason string
}

// Log writes everything that changes something or was refused for who asked, and what
// went wrong; the rest at level debug.
func (a Audit) Log(log *slog.Logger) {
	r := a.Request
	changing := r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
	level := slog.LevelDebug
	switch {
	case a.Status >= 500:
		level = slog.LevelError
	case changing || a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		level = slog.LevelInfo
	}
	if !log.Enabled(r.Context(), level) {
		return
	}
	attributes := []slog.Attr{slog.String("request_id", a.RequestID), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", a.Status), slog.Duration("took", a.Took), slog.String("remote", r.RemoteAddr)}
	if a.Token != nil {
		attributes = append(attributes, slog.String("user_id", a.Token.UserID), slog.String("project_id", a.Token.ProjectID))
	}
	if a.Object != "" {
		attributes = append(attributes, slog.String("object", a.Object))
	}
	if global := r.Header.Get("X-Openstack-Request-Id"); len(global) == 40 {
		attributes = append(attributes, slog.String("global_request_id", global))
	}
	if a.Reason != "" {
		attributes = append(attributes, slog.String("error", a.Reason))
	}
	log.LogAttrs(r.Context(), level, "request", attributes...)
}
