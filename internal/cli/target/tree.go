package target

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// Tree is a cluster with its parts as lines of a table, each part below what it
// belongs to, with the cause if it is not ready. where follows the cluster's own
// name. Causes are cut to most characters; 0 is not at all.
func Tree(r clusterapi.Report, where string, now time.Time, most int) [][]string {
	var lines [][]string
	for _, p := range r.Parts {
		state := p.State
		if p.Cause != "" {
			state += ": " + shortened(p.Cause, most)
		}
		since := ""
		if !p.Since.IsZero() {
			since = "since " + duration.HumanDuration(now.Sub(p.Since))
		}
		name := strings.Repeat("  ", p.Level) + p.Name
		if p.Level == 0 {
			name += where
		}
		lines = append(lines, []string{p.Kind, name, state, since})
	}
	return lines
}

func shortened(cause string, most int) string {
	if letters := []rune(cause); most > 0 && len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return cause
}

// MostOfCause is how many characters of a cause a table shows.
const MostOfCause = 100
