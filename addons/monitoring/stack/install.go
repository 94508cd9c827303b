package stack

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// Apply applies the stack. It can be repeated; volumes grow to the sizes of the settings.
func Apply(ctx context.Context, on *kube.Cluster, s Settings) error {
	all, err := Objects(s)
	if err != nil {
		return err
	}
	for name, size := range s.sizes() {
		if err := noSmaller(ctx, on, name, size); err != nil {
			return err
		}
	}
	if s.Folders != nil {
		if err := giveBack(ctx, on, s.Volumes()); err != nil {
			return err
		}
	}
	if s.CA == "" {
		if err := on.Typed.CoreV1().ConfigMaps(Namespace).Delete(ctx, Alertmanager+"-trust", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the trust of Alertmanager: %w", err)
		}
	}
	if s.Logs == nil {
		if err := removeLogs(ctx, on); err != nil {
			return err
		}
	}
	return on.ApplyObjects(ctx, all)
}

// giveBack lets folders be claimed again whose claims somebody deleted, as with the namespace: a
// volume that is kept remembers which claim had it, and takes no other of the same name.
func giveBack(ctx context.Context, on *kube.Cluster, names []string) error {
	volumes := on.Typed.CoreV1().PersistentVolumes()
	for _, name := range names {
		volume, err := volumes.Get(ctx, "slipway-monitoring-"+name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil && volume.Status.Phase == corev1.VolumeReleased && volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.UID != "" {
			_, err = volumes.Patch(ctx, volume.Name, types.JSONPatchType, []byte(`[{"op": "remove", "path": "/spec/claimRef/uid"}]`), metav1.PatchOptions{})
		}
		if err != nil {
			return fmt.Errorf("giving back the folder of %s: %w", name, err)
		}
	}
	return nil
}

// sizes are those of the volumes in GiB, by the names of their claims; none of folders.
func (s Settings) sizes() map[string]int {
	if s.Folders != nil {
		return nil
	}
	sizes := map[string]int{Prometheus: s.VolumeGiB, Alertmanager: s.AlertVolumeGiB}
	if s.Logs != nil {
		sizes[Loki] = s.Logs.VolumeGiB
	}
	return sizes
}

// noSmaller refuses a size below that of a volume that is there: no volume shrinks.
func noSmaller(ctx context.Context, on *kube.Cluster, name string, gib int) error {
	claim, err := on.Typed.CoreV1().PersistentVolumeClaims(Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the volume of %s: %w", name, err)
	}
	now := claim.Spec.Resources.Requests.Storage()
	if wanted := resource.MustParse(fmt.Sprintf("%dGi", gib)); now.Cmp(wanted) > 0 {
		key := name
		if name == Loki {
			key = "logs"
		}
		return fault.New("spec.monitoring."+key+".volumeGiB", fmt.Errorf("the volume has %s already, and cannot shrink to %s", now, &wanted),
			fmt.Sprintf("set it back, or delete what is recorded: kubectl -n %s delete deployment/%s pvc/%s", Namespace, name, name))
	}
	return nil
}

// Remove deletes everything but the volumes: who installs monitoring again has the past, and
// who wants it gone deletes the namespace.
func Remove(ctx context.Context, on *kube.Cluster) error {
	if err := removeLogs(ctx, on); err != nil {
		return err
	}
	now, core, apps := metav1.DeleteOptions{}, on.Typed.CoreV1(), on.Typed.AppsV1()
	steps := []func() error{
		func() error { return apps.DaemonSets(NodesNamespace).Delete(ctx, NodeExporter, now) },
		func() error { return core.Namespaces().Delete(ctx, NodesNamespace, now) },
		func() error { return on.Typed.NetworkingV1().NetworkPolicies(Namespace).Delete(ctx, policy, now) },
		func() error { return core.Secrets(Namespace).Delete(ctx, Alertmanager, now) },
		func() error { return core.ConfigMaps(Namespace).Delete(ctx, Alertmanager+"-trust", now) },
	}
	for _, name := range []string{Prometheus, Alertmanager, StateMetrics} {
		steps = append(steps, func() error { return apps.Deployments(Namespace).Delete(ctx, name, now) },
			func() error { return core.ConfigMaps(Namespace).Delete(ctx, name, now) },
			func() error { return core.Services(Namespace).Delete(ctx, name, now) },
			func() error { return core.ServiceAccounts(Namespace).Delete(ctx, name, now) },
			func() error { return on.Typed.RbacV1().ClusterRoleBindings().Delete(ctx, "slipway-"+name, now) },
			func() error { return on.Typed.RbacV1().ClusterRoles().Delete(ctx, "slipway-"+name, now) })
	}
	for _, step := range steps {
		if err := step(); err != nil && !kube.Absent(err) {
			return fmt.Errorf("removing monitoring: %w", err)
		}
	}
	return nil
}
