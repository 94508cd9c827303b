package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/kube"
)

// The ConfigMap that says what was restored here. Without it, a run after the first
// wave would bring back what controllers have deleted since.
const (
	recordNamespace  = "kube-system"
	recordName       = "slipway-recovery"
	recordBackup     = "restored"
	recordGeneration = "generation"
	// recordBegun is when the run began that is rebuilding this management cluster, and from
	// which backup: "2026-03-01T04:00:00Z ID".
	recordBegun = "begun"
)

// Begin notes that a rebuild of this management cluster from a backup is under way: Complete
// says so until End, or until it was given up for a day.
func Begin(ctx context.Context, on *kube.Cluster, backup string, now time.Time) error {
	return note(ctx, on, recordBegun, now.UTC().Format(time.RFC3339)+" "+backup)
}

// Begun is the backup of the rebuild that has begun and not come to its end, however long ago;
// "" is none.
func Begun(ctx context.Context, on *kube.Cluster) (backup string, err error) {
	text, err := recorded(ctx, on, recordBegun)
	_, backup, _ = strings.Cut(text, " ")
	return backup, err
}

// End notes that a rebuild has come to its end.
func End(ctx context.Context, on *kube.Cluster) error { return note(ctx, on, recordBegun, "") }

// Rebuild is what the record on a management cluster says of its rebuild.
type Rebuild struct {
	// Begun is the backup of one that has not come to its end, Restored the backup that is
	// restored completely; "" is none.
	Begun, Restored string
}

// ReadRebuild reads it.
func ReadRebuild(ctx context.Context, on *kube.Cluster) (r Rebuild, err error) {
	if r.Begun, err = Begun(ctx, on); err == nil {
		r.Restored, err = Restored(ctx, on)
	}
	return r, err
}

// Over reports whether no rebuild needs a backup any more that one has pinned: it has come to its
// end. Without a record nobody knows: it may be that of a management cluster which the rebuild is
// about to replace. Nor does one that began from another backup say so: the pin can be that of the
// rebuild which comes after it, and has not begun yet. That one ends the pins of the former.
func (r Rebuild) Over(backup string) bool { return r.Begun == "" && r.Restored == backup }

// Restored is the backup, by what Record was given, that was restored completely;
// "" is none.
func Restored(ctx context.Context, on *kube.Cluster) (string, error) {
	return recorded(ctx, on, recordBackup)
}

// Record notes that a backup is restored completely.
func Record(ctx context.Context, on *kube.Cluster, backup string) error {
	return note(ctx, on, recordBackup, backup)
}

func recorded(ctx context.Context, on *kube.Cluster, key string) (string, error) {
	record, err := on.Typed.CoreV1().ConfigMaps(recordNamespace).Get(ctx, recordName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the record of recovery: %w", err)
	}
	return record.Data[key], nil
}

// note writes one key and leaves the others.
func note(ctx context.Context, on *kube.Cluster, key, value string) error {
	maps := on.Typed.CoreV1().ConfigMaps(recordNamespace)
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: recordName, Labels: map[string]string{"app.kubernetes.io/managed-by": kube.FieldManager}},
		Data: map[string]string{key: value}}
	_, err := maps.Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"data": wanted.Data}); err == nil {
			_, err = maps.Patch(ctx, recordName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager})
		}
	}
	if err != nil {
		return fmt.Errorf("writing the record of recovery: %w", err)
	}
	return nil
}

// Generation is the generation that this management cluster has taken; 0 is none.
func Generation(ctx context.Context, on *kube.Cluster) (int, error) {
	text, err := recorded(ctx, on, recordGeneration)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("reading the record of recovery: generation %q is no number", text)
	}
	return n, nil
}

// RecordGeneration notes the generation of this management cluster.
func RecordGeneration(ctx context.Context, on *kube.Cluster, generation int) error {
	return note(ctx, on, recordGeneration, strconv.Itoa(generation))
}
