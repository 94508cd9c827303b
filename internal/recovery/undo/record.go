package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// The ConfigMap that says what an undo goes back to. It is on the management cluster, so
// that it can be run from whichever machine, and comes back with its etcd.
const (
	recordNamespace = "kube-system"
	recordName      = "slipway-undo"
	recordKey       = "point"
)

// Point is what can be gone back to, and how far an undo came.
type Point struct {
	// Backup is the ID of the backup before the change, Taken when it was made. No backup
	// means that the change was made without one.
	Backup string    `json:"backup"`
	Taken  time.Time `json:"taken"`
	// Until is the end of the window.
	Until time.Time `json:"until"`
	// Complete is when up had made the change: until then a further run belongs to it.
	Complete time.Time `json:"complete,omitzero"`
	// Undoing is when an undo began, Replaced when the controllers were back, Undone when
	// all was done.
	Undoing  time.Time `json:"undoing,omitzero"`
	Replaced time.Time `json:"replaced,omitzero"`
	Undone   time.Time `json:"undone,omitzero"`
	// Busy are clusters that were changing when the undo began: they are released last, and
	// what happens to them in the cloud is theirs.
	Busy []string `json:"busy,omitempty"`
}

// Open reports whether the change that the point is of has not come to an end: a further run
// of up continues with it and keeps the point.
func (p *Point) Open() bool {
	return p != nil && p.Backup != "" && (p.Complete.IsZero() || !p.Undoing.IsZero()) && p.Undone.IsZero()
}

// Over reports whether no undo needs a backup any more that one has pinned: it is undone, or up
// has made another change since. Without a record nobody knows.
func (p *Point) Over(backup string) bool {
	return p != nil && (p.Backup != backup || !p.Undone.IsZero())
}

// Check refuses a point that cannot be gone back to at a time.
func (p *Point) Check(now time.Time) error {
	const forward = "go forward with slipway up; what else helps is in docs/operations/recovery.md"
	switch {
	case p == nil:
		return fault.Usage("undo", errors.New("no slipway up has changed controllers or Kubernetes of this management cluster after a backup"), "there is nothing to go back to")
	case p.Backup == "":
		return fault.Usage("undo", errors.New("the last change was made without a backup"), forward)
	case !p.Undone.IsZero(), !p.Undoing.IsZero(): // what was begun is finished
		return nil
	case now.After(p.Until):
		return fault.Usage("undo", fmt.Errorf("the window is over since %s: backup %s is of %s", p.Until.UTC().Format(time.RFC3339), p.Backup, p.Taken.UTC().Format(time.RFC3339)), forward+"; spec.backup.undoWindow is for the next change")
	}
	return nil
}

// ReadPoint reads the point, nil if there is none.
func ReadPoint(ctx context.Context, on *kube.Cluster) (*Point, error) {
	record, err := on.Typed.CoreV1().ConfigMaps(recordNamespace).Get(ctx, recordName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record of the last change: %w", err)
	}
	p := &Point{}
	if err := json.Unmarshal([]byte(record.Data[recordKey]), p); err != nil {
		return nil, fault.New("ConfigMap "+recordNamespace+"/"+recordName, errors.New("it is no record of a change"), "delete it; the next slipway up writes it again")
	}
	return p, nil
}

// WritePoint writes the point.
func WritePoint(ctx context.Context, on *kube.Cluster, p Point) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the record of the change: %w", err)
	}
	maps := on.Typed.CoreV1().ConfigMaps(recordNamespace)
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: recordName, Labels: map[string]string{"app.kubernetes.io/managed-by": kube.FieldManager}},
		Data: map[string]string{recordKey: string(text)}}
	_, err = maps.Create(ctx, wanted, metav1.CreateOptions{FieldManager: kube.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"data": wanted.Data}); err == nil {
			_, err = maps.Patch(ctx, recordName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager})
		}
	}
	if err != nil {
		return fmt.Errorf("writing the record of the change: %w", err)
	}
	return nil
}
