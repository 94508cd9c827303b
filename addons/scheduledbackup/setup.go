package scheduledbackup

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/datastore"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
)

// Options are how the backups are made.
type Options struct {
	Settings  Settings
	UserAgent string
	// Wrap, if set, is put around the transport to the cloud.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Allowed, if set, is why no backup may be made now: a management cluster that was
	// replaced must not put one among those of the new one.
	Allowed func(context.Context) error
}

// Setup adds the backups to a manager. They run where it is the leader.
func Setup(mgr manager.Manager, o Options) error {
	client, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("client of backups: %w", err)
	}
	measured, err := newMeters(metrics.Registry)
	if err != nil {
		return err
	}
	allowed := func(ctx context.Context) error {
		if o.Allowed != nil {
			if err := o.Allowed(ctx); err != nil {
				return err
			}
		}
		if o.Settings.Machine != "" { // nothing is restored into a seed but its whole datastore
			return nil
		}
		return restore.Complete(ctx, client)
	}
	m := maker{settings: o.Settings, config: mgr.GetConfig(), client: client, userAgent: o.UserAgent, wrap: o.Wrap, folder: datastore.Folder, allowed: allowed}
	events, log := mgr.GetEventRecorderFor("slipway-backup"), mgr.GetLogger()
	about := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name}}
	if err := watchDrills(mgr, o.Settings, client); err != nil {
		return err
	}
	return mgr.Add(&runner{
		show: measured.show,
		due:  o.Settings.rhythm(), make: m.make, prune: m.prune,
		load:    func(ctx context.Context) (record.State, error) { return record.Load(ctx, client) },
		save:    func(ctx context.Context, s record.Schedule) error { return record.SaveSchedule(ctx, client, s) },
		allowed: allowed,
		tell: func(s record.Schedule, err error) {
			measured.tell(s)
			if err != nil {
				log.Error(err, "no backup", "failures", s.Failures, "remedy", fault.Remedy(err))
				events.Event(about, corev1.EventTypeWarning, "BackupFailed", shortened(err))
				return
			}
			log.Info("backup made", "backup", s.Backup, "seconds", s.Duration, "pruneError", s.PruneError)
			events.Event(about, corev1.EventTypeNormal, "BackupMade", fmt.Sprintf("backup %s in %.0f s", s.Backup, s.Duration))
		},
	})
}

// shortened is a cause that fits an event, which has room for 1024 characters.
func shortened(err error) string {
	text := []rune(err.Error())
	return string(text[:min(len(text), 1000)])
}

type meters struct {
	last, duration, every prometheus.Gauge
	// failures has no value before the record is known. Else it would be 0 in each replica that
	// is not the leader, and all failures there ever were would look new when one becomes it.
	failures *prometheus.GaugeVec
}

// newMeters registers the metrics. The count of failures is kept in the record, so that
// it outlives the process: a gauge shows it.
func newMeters(registry prometheus.Registerer) (meters, error) {
	g := gauges{registry: registry}
	m := meters{
		last:     g.add("slipway_backup_last_success_timestamp_seconds", "When the last scheduled backup was made; 0 if none was."),
		duration: g.add("slipway_backup_last_duration_seconds", "How long the last scheduled backup took."),
		failures: g.later("slipway_backup_failures_total", "Attempts of scheduled backups that failed."),
		every:    g.add("slipway_backup_interval_seconds", "Longest time between two scheduled backups."),
	}
	return m, g.err
}

// show shows a record that was read.
func (m meters) show(s record.Schedule) {
	m.tell(s)
	m.failures.WithLabelValues().Set(float64(s.Failures))
}

// tell shows how an attempt ended. A record without any attempt may be one that was not read: it
// does not know what failed before.
func (m meters) tell(s record.Schedule) {
	m.last.Set(0)
	if !s.LastSuccess.IsZero() {
		m.last.Set(float64(s.LastSuccess.UnixNano()) / 1e9)
	}
	m.duration.Set(s.Duration)
	m.every.Set(s.Every)
	if !s.LastAttempt.IsZero() {
		m.failures.WithLabelValues().Set(float64(s.Failures))
	}
}
