package velero

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
)

// backupBinding lets Velero read everything.
const backupBinding = "velero-backup"

// Apply applies Velero with its definitions. It can be repeated; what other settings gave and
// these do not is taken back.
func Apply(ctx context.Context, on *kube.Cluster, definitions []*unstructured.Unstructured, settings Settings) error {
	objects, err := Objects(settings)
	if err != nil {
		return err
	}
	if !settings.Restore {
		if err := revoke(ctx, on); err != nil {
			return err
		}
	}
	return on.ApplyObjects(ctx, append(definitions, objects...))
}

// Remove takes the server, its login and its rights from a cluster. Its objects and their
// definitions stay, and so does what is in the bucket: without the server, Velero's own
// finalizers would hold them forever.
func Remove(ctx context.Context, on *kube.Cluster) error {
	now := metav1.DeleteOptions{}
	for _, step := range []func() error{
		func() error { return on.Typed.AppsV1().Deployments(Namespace).Delete(ctx, Name, now) },
		func() error { return on.Typed.CoreV1().Secrets(Namespace).Delete(ctx, Login, now) },
		func() error { return on.Typed.RbacV1().ClusterRoleBindings().Delete(ctx, backupBinding, now) },
		func() error { return on.Typed.RbacV1().RoleBindings(Namespace).Delete(ctx, Name, now) },
	} {
		if err := step(); err != nil && !kube.Absent(err) {
			return fmt.Errorf("removing Velero: %w", err)
		}
	}
	return revoke(ctx, on)
}

// revoke takes back the right to restore, which is that to write everything.
func revoke(ctx context.Context, on *kube.Cluster) error {
	if err := on.Typed.RbacV1().ClusterRoleBindings().Delete(ctx, RestoreBinding, metav1.DeleteOptions{}); err != nil && !kube.Absent(err) {
		return fmt.Errorf("removing Velero's right to restore: %w", err)
	}
	return nil
}
