package target

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// Tree returns a cluster and its objects as rows of a table, each object below its
// owner, with the cause if it is not ready. where follows the cluster's own name.
// Causes are cut to most characters; 0 means uncut.
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

// MostOfCause is the maximum number of characters of a cause in a table.
const MostOfCause = 100
