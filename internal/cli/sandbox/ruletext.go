//go:build linux

package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// when describes a rule's conditions.
func when(r faultinject.Rule) string {
	var parts []string
	for _, part := range []string{r.Service, r.Method, r.Path} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if r.Resource != "" {
		parts = append(parts, "name "+r.Resource)
	}
	if r.Nth > 0 {
		parts = append(parts, fmt.Sprintf("call %d", r.Nth))
	}
	if r.Times > 0 {
		parts = append(parts, fmt.Sprintf("%d times", r.Times))
	}
	if r.Probability > 0 {
		parts = append(parts, fmt.Sprintf("chance %g (seed %d)", r.Probability, r.Seed))
	}
	if len(parts) == 0 {
		return "always"
	}
	return strings.Join(parts, " ")
}

// then describes what a rule does.
func then(r faultinject.Rule) string {
	var parts []string
	if r.Delay > 0 {
		parts = append(parts, "after "+time.Duration(r.Delay).String())
	}
	if r.Status > 0 {
		parts = append(parts, fmt.Sprint(r.Status))
	}
	if r.Drop {
		parts = append(parts, "drop")
	}
	if len(parts) == 0 {
		return string(r.Kind)
	}
	return strings.Join(parts, " ")
}
