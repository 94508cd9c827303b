package faults

import (
	"regexp"
	"strings"
)

var (
	ids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32}\b`)
	listens = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// steady takes out of a text what differs from run to run.
func steady(text string) string {
	text = listens.ReplaceAllString(ids.ReplaceAllString(text, "[id]"), "cloud.example")
	if len(text) > 220 {
		text = text[:220] + "…"
	}
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}
