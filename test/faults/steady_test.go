package faults

import (
	"regexp"
	"strings"
)

var (
	ids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32}\b`)
	listens = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	planter = regexp.MustCompile(`Fault rule [0-9a-f]+ lets`)
)

// given are addresses of the sandbox's external network.
var given = regexp.MustCompile(`\b172\.24\.4\.\d+\b`)

// known is a name without what the cloud gave it.
func known(name string) string {
	return ids.ReplaceAllString(given.ReplaceAllString(name, "ID"), "ID")
}

// steady takes out of a text what differs from run to run.
func steady(text string) string {
	text = planter.ReplaceAllString(ids.ReplaceAllString(text, "[id]"), "A fault rule lets")
	text = given.ReplaceAllString(text, "[address]")
	text = listens.ReplaceAllString(text, "cloud.example")
	if len(text) > 220 {
		text = text[:220] + "…"
	}
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}
