package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// recordJoined is the generation that the cloud had when the controllers of a cluster
// that no rebuild made looked for the first time. It is not a generation that a rebuild
// has taken: a rebuild into this cluster takes the next one.
const recordJoined = "joined"

// RecordName and RecordNamespace name the ConfigMap that controllers may read and patch.
const (
	RecordNamespace = recordNamespace
	RecordName      = recordName
)

// Join is the generation of a management cluster: the one that a rebuild has taken for
// it, else the one that it found in the cloud when it was new, which is noted now if it
// never was. The ConfigMap must be there. It changes only what nobody changed meanwhile.
func Join(ctx context.Context, on kubernetes.Interface, cloud int) (int, error) {
	maps := on.CoreV1().ConfigMaps(recordNamespace)
	record, err := maps.Get(ctx, recordName, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("reading the generation of this management cluster: %w", err)
	}
	if ours, known, err := generationIn(record.Data); err != nil || known {
		return ours, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": record.ResourceVersion},
		"data": map[string]string{recordJoined: strconv.Itoa(cloud)}})
	if err != nil {
		return 0, err
	}
	if _, err := maps.Patch(ctx, recordName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager}); err != nil {
		return 0, fmt.Errorf("noting the generation of this management cluster: %w", err)
	}
	return cloud, nil
}

// Current is the generation of a management cluster as far as it is noted; 0 if it is
// not.
func Current(ctx context.Context, on kubernetes.Interface) (int, error) {
	ours, _, err := Noted(ctx, on)
	return ours, err
}

// Noted is Current; known is false if no generation is noted, as before the controllers have
// looked at the cloud for the first time.
func Noted(ctx context.Context, on kubernetes.Interface) (ours int, known bool, err error) {
	record, err := on.CoreV1().ConfigMaps(recordNamespace).Get(ctx, recordName, metav1.GetOptions{})
	if kube.Absent(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the generation of this management cluster: %w", err)
	}
	return generationIn(record.Data)
}

// ErrIncomplete is that a rebuild of this management cluster is not complete.
var ErrIncomplete = errors.New("the rebuild of this management cluster is not complete")

// abandoned is how long a rebuild counts as under way that no run goes on with.
const abandoned = 24 * time.Hour

// Complete is nil unless a rebuild of this management cluster is not complete: it has begun
// and not come to its end, or has taken a generation and not restored everything. A backup of
// that would be the newest one, and lack most clusters; and a rebuild that continues would take
// it for the one to restore. The fault wraps ErrIncomplete.
func Complete(ctx context.Context, on kubernetes.Interface) error {
	record, err := on.CoreV1().ConfigMaps(recordNamespace).Get(ctx, recordName, metav1.GetOptions{})
	if kube.Absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the record of recovery: %w", err)
	}
	const finish = "finish it with slipway recover, which continues where it ended; a backup that is made now would lack what is not restored yet"
	half := record.Data[recordGeneration] != "" && record.Data[recordBackup] == ""
	since, _, _ := strings.Cut(record.Data[recordBegun], " ")
	begun, err := time.Parse(time.RFC3339, since)
	underWay := err == nil && time.Since(begun).Abs() < abandoned // none, or one of a clock that was wrong, stops nobody
	switch {
	case half:
		return fault.New("ConfigMap "+recordNamespace+"/"+recordName, ErrIncomplete, finish)
	case underWay:
		return fault.New("ConfigMap "+recordNamespace+"/"+recordName, fmt.Errorf("%w: a run began at %s", ErrIncomplete, begun.Format(time.RFC3339)),
			finish+". If nobody does, backups are made again from "+begun.Add(abandoned).Format(time.RFC3339)+" on")
	}
	return nil
}

func generationIn(data map[string]string) (ours int, known bool, err error) {
	for _, key := range []string{recordGeneration, recordJoined} {
		text := data[key]
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, false, fmt.Errorf("reading the record of recovery: %s %q is not a number", key, text)
		}
		ours, known = max(ours, n), true
	}
	return ours, known, nil
}
