package stack

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// Apply applies the stack. It can be repeated; volumes grow to the sizes of the settings.
func Apply(ctx context.Context, on *kube.Cluster, s Settings) error {
	all, err := Objects(s)
	if err != nil {
		return err
	}
	sizes := map[string]int{Prometheus: s.VolumeGiB, Alertmanager: s.AlertVolumeGiB}
	if s.Logs != nil {
		sizes[Loki] = s.Logs.VolumeGiB
	}
	for name, size := range sizes {
		if s.Folders != nil {
			break
		}
		if err := noSmaller(ctx, on, name, size); err != nil {
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

// Remove takes everything away but the volumes: who installs monitoring again has the past, and
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
