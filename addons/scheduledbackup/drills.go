package scheduledbackup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
)

// lookEvery is how often the record of drills is read.
const lookEvery = time.Minute

// drillWatch tells how drills went, which run elsewhere: where the private key is.
type drillWatch struct {
	// due is nil if nobody said how often drills must pass.
	due  *rhythm.Rhythm
	load func(context.Context) (record.State, error)
	save func(context.Context, *record.Watch) error
	show func(d *record.Drill, late bool)
	tell func(kind, reason, text string)
	log  func(error)

	told time.Time // of the drill that was told last
	late bool
}

// watchDrills adds the watch to a manager. The seed has no drills.
func watchDrills(mgr manager.Manager, s Settings, client kubernetes.Interface) error {
	if s.Machine != "" {
		return nil
	}
	due, err := s.drills()
	if err != nil {
		return err
	}
	show, err := drillMeters(metrics.Registry)
	if err != nil {
		return err
	}
	events, log := mgr.GetEventRecorderFor("slipway-backup"), mgr.GetLogger()
	about := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name}}
	return mgr.Add(&drillWatch{due: due, show: show,
		load: func(ctx context.Context) (record.State, error) { return record.Load(ctx, client) },
		save: func(ctx context.Context, w *record.Watch) error { return record.SaveWatch(ctx, client, w) },
		tell: func(kind, reason, text string) { events.Event(about, kind, reason, shortened(errors.New(text))) },
		log:  func(err error) { log.Error(err, "the drills cannot be watched") },
	})
}

// Start implements manager.Runnable.
func (d *drillWatch) Start(ctx context.Context) error {
	for {
		if err := d.look(ctx, time.Now()); err != nil && ctx.Err() == nil {
			d.log(err)
		}
		if !wait(ctx, lookEvery) {
			return nil
		}
	}
}

// look reads the record and tells what is new.
func (d *drillWatch) look(ctx context.Context, now time.Time) error {
	state, err := d.load(ctx)
	if err != nil {
		return err
	}
	wanted := d.wanted(state.Watch, now)
	if (wanted == nil) != (state.Watch == nil) || wanted != nil && !wanted.Equal(*state.Watch) {
		if err := d.save(ctx, wanted); err != nil {
			return err
		}
		state.Watch = wanted
	}
	if one := state.Drill; one != nil && !one.At.Equal(d.told) {
		if d.told = one.At; one.Passed {
			d.tell(corev1.EventTypeNormal, "DrillPassed", fmt.Sprintf("backup %s was restored for practice in %.0f s", one.Backup, one.Seconds))
		} else {
			d.tell(corev1.EventTypeWarning, "DrillFailed", fmt.Sprintf("backup %s cannot be restored: %s", one.Backup, strings.Join(one.Failed, "; ")))
		}
	}
	late := state.DrillLate(now)
	if late && !d.late {
		d.tell(corev1.EventTypeWarning, "DrillOverdue", "no backup was restored for practice in time; run slipway backup drill where the private key is")
	}
	d.late = late
	d.show(state.Drill, late)
	return nil
}

// wanted is what the record must say of when drills are due. The time from which they are
// watched stays, unless it is still to come: a process that starts again must not forget that
// one is late.
func (d *drillWatch) wanted(there *record.Watch, now time.Time) *record.Watch {
	if d.due == nil {
		return nil
	}
	w := &record.Watch{Every: d.due.Longest(now).Seconds(), Cron: d.due.Calendar(), Since: now.UTC().Truncate(time.Second)}
	if there != nil && !there.Since.After(now) {
		w.Since = there.Since
	}
	return w
}

// drillMeters registers the metrics of drills.
func drillMeters(registry prometheus.Registerer) (func(d *record.Drill, late bool), error) {
	g := gauges{registry: registry}
	passed := g.add("slipway_backup_drill_last_passed_timestamp_seconds", "When a drill passed last; 0 if none did.")
	failed := g.add("slipway_backup_drill_failed", "1 if the last drill could not restore its backup.")
	overdue := g.add("slipway_backup_drill_overdue", "1 if no drill passed in the time of spec.backup.drill.")
	return func(d *record.Drill, late bool) {
		passed.Set(0)
		if d != nil && !d.LastPassed.IsZero() {
			passed.Set(float64(d.LastPassed.UnixNano()) / 1e9)
		}
		failed.Set(oneIf(d != nil && !d.Passed))
		overdue.Set(oneIf(late))
	}, g.err
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// gauges registers gauges, or finds those that are registered.
type gauges struct {
	registry prometheus.Registerer
	err      error
}

// later is add for a gauge that is not there before it is set.
func (g *gauges) later(name, help string) *prometheus.GaugeVec {
	made := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, nil)
	err := g.registry.Register(made)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		return already.ExistingCollector.(*prometheus.GaugeVec)
	}
	g.err = errors.Join(g.err, err)
	return made
}

func (g *gauges) add(name, help string) prometheus.Gauge {
	made := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	err := g.registry.Register(made)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		return already.ExistingCollector.(prometheus.Gauge)
	}
	g.err = errors.Join(g.err, err)
	return made
}
