package scheduledbackup

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-sh/slipway/internal/backup/record"
)

// TestFormerFailuresAreNotNew: the alert about failures looks at how much the count grows, so
// that a process must not begin at 0 and then find the count of former ones in the record.
func TestFormerFailuresAreNotNew(t *testing.T) {
	t.Parallel()
	const failures, every = "slipway_backup_failures_total", "slipway_backup_interval_seconds"
	registry := prometheus.NewRegistry()
	m, err := newMeters(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func()
		want map[string]float64
	}{
		{"a process that is not the leader", func() {}, map[string]float64{every: 0}},
		{"a record that cannot be read", func() { m.tell(record.Schedule{Every: 3600}) }, map[string]float64{every: 3600}},
		{"the record", func() { m.show(record.Schedule{Every: 3600, Failures: 7}) }, map[string]float64{every: 3600, failures: 7}},
		{"another failure", func() { m.tell(record.Schedule{Every: 3600, Failures: 8, LastAttempt: time.Unix(1, 0)}) }, map[string]float64{every: 3600, failures: 8}},
		{"a second set-up in this process", func() {
			again, err := newMeters(registry)
			if err != nil {
				t.Fatal(err)
			}
			again.show(record.Schedule{})
		}, map[string]float64{every: 0, failures: 0}},
	} {
		step.do()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			if f.GetName() == failures || f.GetName() == every {
				got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		if !maps.Equal(got, step.want) {
			t.Errorf("%s: measured %v, want %v", step.name, got, step.want)
		}
	}
}
