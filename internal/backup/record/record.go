// Package record is what is known of backups and drills on the management cluster: a
// ConfigMap that survives restarts, which `slipway status` reads.
package record

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// The ConfigMap.
const (
	Namespace = "slipway-system"
	Name      = "slipway-backup"
)

const (
	scheduleKey = "schedule"
	drillKey    = "drill"
	watchKey    = "drills"
)

// Schedule is how the scheduled backups go.
type Schedule struct {
	// Every is the longest time between two, in seconds; Cron are the times, if they are of
	// a calendar.
	Every float64 `json:"everySeconds"`
	Cron  string  `json:"cron,omitempty"`
	// LastSuccess is when the last backup was made, Backup its ID, Duration how long it
	// took in seconds.
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	Backup      string    `json:"backup,omitempty"`
	Duration    float64   `json:"durationSeconds,omitempty"`
	// LastAttempt is when the last one was tried. Error is why it failed, empty if it did
	// not; Failures counts all that failed.
	LastAttempt time.Time `json:"lastAttempt,omitzero"`
	Error       string    `json:"error,omitempty"`
	Failures    int       `json:"failures"`
	// PruneError is why old backups could not be removed.
	PruneError string `json:"pruneError,omitempty"`
}

// Late reports whether a backup is missing: none for twice the time between two.
func (s Schedule) Late(now time.Time) bool {
	every := time.Duration(s.Every * float64(time.Second))
	return every > 0 && now.Sub(s.LastSuccess) > 2*every
}

// Drill is the result of a drill.
type Drill struct {
	At     time.Time `json:"at"`
	Backup string    `json:"backup"`
	Passed bool      `json:"passed"`
	// Failed are the checks that failed, each with the first object.
	Failed []string `json:"failed,omitempty"`
	// Seconds is how long it took in all.
	Seconds float64 `json:"seconds"`
	// LastPassed is when a drill passed last, this one included.
	LastPassed time.Time `json:"lastPassed,omitzero"`
}

// mostAhead is how far ahead the clock may be of a machine that makes drills.
const mostAhead = time.Hour

// PassedBy is when a drill passed last, by a time; zero if none did. One that passed when it is
// still to come is none: nobody knows when that was.
func (d Drill) PassedBy(now time.Time) time.Time {
	if d.LastPassed.Sub(now) > mostAhead {
		return time.Time{}
	}
	return d.LastPassed
}

// Watch is when drills are due.
type Watch struct {
	// Every is the longest time between two, in seconds; Cron are the times, if they are of
	// a calendar.
	Every float64 `json:"everySeconds"`
	Cron  string  `json:"cron,omitempty"`
	// Since is from when on they are watched.
	Since time.Time `json:"since"`
}

// Equal reports whether two say the same.
func (w Watch) Equal(other Watch) bool {
	return w.Every == other.Every && w.Cron == other.Cron && w.Since.Equal(other.Since)
}

// mostDrillDelay is how late a drill may be at most.
const mostDrillDelay = 24 * time.Hour

// DrillLate reports whether a drill is missing: the last that passed, or the beginning of
// the watch, is longer ago than it may be.
func (s State) DrillLate(now time.Time) bool {
	if s.Watch == nil || s.Watch.Every <= 0 {
		return false
	}
	since, every := s.Watch.Since, time.Duration(s.Watch.Every*float64(time.Second))
	if s.Drill != nil && s.Drill.PassedBy(now).After(since) {
		since = s.Drill.LastPassed
	}
	return now.Sub(since) > every+min(every, mostDrillDelay)
}

// State is all that is recorded; nil is what was never.
type State struct {
	Schedule *Schedule `json:"schedule,omitempty"`
	Drill    *Drill    `json:"drill,omitempty"`
	// Watch is nil if nobody said when drills are due.
	Watch *Watch `json:"watch,omitempty"`
	// Seed is how the seed's backups of its datastore go; it is recorded on the seed.
	Seed *Schedule `json:"seed,omitempty"`
}

// Load reads it. A cluster without a record has an empty one.
func Load(ctx context.Context, on kubernetes.Interface) (State, error) {
	found, err := on.CoreV1().ConfigMaps(Namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the record of backups: %w", err)
	}
	var s State
	for key, to := range map[string]any{scheduleKey: &s.Schedule, drillKey: &s.Drill, watchKey: &s.Watch} {
		if text := found.Data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				return State{}, fmt.Errorf("reading the record of backups: %s: %w", key, err)
			}
		}
	}
	return s, nil
}

// SaveSchedule notes how the schedule goes. The ConfigMap must be there.
func SaveSchedule(ctx context.Context, on kubernetes.Interface, s Schedule) error {
	return patch(ctx, on, scheduleKey, s)
}

// SaveWatch notes when drills are due; nil is never. The ConfigMap must be there.
func SaveWatch(ctx context.Context, on kubernetes.Interface, w *Watch) error {
	return patch(ctx, on, watchKey, w)
}

// SaveDrill notes the result of a drill. It makes the ConfigMap if there is none.
func SaveDrill(ctx context.Context, on kubernetes.Interface, d Drill) error {
	former, err := Load(ctx, on)
	if err != nil {
		return err
	}
	switch {
	case d.Passed:
		d.LastPassed = d.At
	case former.Drill != nil:
		d.LastPassed = former.Drill.LastPassed
	}
	err = patch(ctx, on, drillKey, d)
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = on.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the record of backups: %w", err)
	}
	_, err = on.CoreV1().ConfigMaps(Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: Name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the record of backups: %w", err)
	}
	return patch(ctx, on, drillKey, d)
}

func patch(ctx context.Context, on kubernetes.Interface, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"data": map[string]string{key: string(text)}})
	if err != nil {
		return err
	}
	if _, err := on.CoreV1().ConfigMaps(Namespace).Patch(ctx, Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "slipway"}); err != nil {
		return fmt.Errorf("writing the record of backups: %w", err)
	}
	return nil
}
