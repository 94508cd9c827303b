package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/kube"
)

// The ConfigMap that says what was restored here. Without it, a run after the first
// wave would bring back what controllers have deleted since.
const (
	recordNamespace = "kube-system"
	recordName      = "slipway-recovery"
	recordBackup    = "restored"
)

// Restored is the backup, by what Record was given, that was restored completely;
// "" is none.
func Restored(ctx context.Context, on *kube.Cluster) (string, error) {
	record, err := on.Typed.CoreV1().ConfigMaps(recordNamespace).Get(ctx, recordName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the record of recovery: %w", err)
	}
	return record.Data[recordBackup], nil
}

// Record notes that a backup is restored completely.
func Record(ctx context.Context, on *kube.Cluster, backup string) error {
	maps := on.Typed.CoreV1().ConfigMaps(recordNamespace)
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: recordName, Labels: map[string]string{"app.kubernetes.io/managed-by": kube.FieldManager}},
		Data: map[string]string{recordBackup: backup}}
	_, err := maps.Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, wanted, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the record of recovery: %w", err)
	}
	return nil
}
