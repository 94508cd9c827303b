package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/ui"
)

// measure is one result. Value and Target are in the unit; a target is the
// largest value that is allowed, 0 when there is none.
type measure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Target float64 `json:"target,omitempty"`
	// Result is ok or missed, and empty without a target.
	Result string `json:"result,omitempty"`
}

func newMeasure(name string, value float64, unit string, target float64) measure {
	m := measure{Name: name, Value: value, Unit: unit, Target: target}
	switch {
	case target == 0:
	case value < target:
		m.Result = "ok"
	default:
		m.Result = "missed"
	}
	return m
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quantile returns the value below which the share q of the times is.
func quantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func table(all []measure) ui.Table {
	t := ui.Table{Header: []string{"MEASURE", "VALUE", "TARGET", "RESULT"}}
	for _, m := range all {
		target := "-"
		if m.Target > 0 {
			target = fmt.Sprintf("< %g %s", m.Target, m.Unit)
		}
		t.Rows = append(t.Rows, []string{m.Name, fmt.Sprintf("%.4g %s", m.Value, m.Unit), target, m.Result})
	}
	return t
}
