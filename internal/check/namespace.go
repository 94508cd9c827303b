package check

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Label is on the namespaces of checks.
const Label = "slipway.sh/check"

const (
	// abandoned is how old the namespace of a check is that was killed, abandonedTests that of
	// one with Kubernetes' own tests, which take hours.
	abandoned      = time.Hour
	abandonedTests = 24 * time.Hour
	lookEvery      = time.Second
)

// begin deletes what killed checks have left, and makes the namespace.
func (r *run) begin(ctx context.Context) error {
	namespaces := r.Client.CoreV1().Namespaces()
	list, err := namespaces.List(ctx, metav1.ListOptions{LabelSelector: Label})
	if err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	for _, old := range list.Items {
		most := abandoned
		if old.Labels[Label] == Conformance {
			most = abandonedTests
		}
		if time.Since(old.CreationTimestamp.Time) > most && old.DeletionTimestamp == nil {
			if err := namespaces.Delete(ctx, old.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("deleting namespace %s of a check that was killed: %w", old.Name, err)
			}
		}
	}
	security := "restricted"
	if r.Name == Conformance {
		security = "baseline" // the image of the tests runs as root
	}
	made, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "slipway-check-",
		Labels: map[string]string{Label: r.Name, "pod-security.kubernetes.io/enforce": security}}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making the namespace of the check: %w", err)
	}
	r.namespace = made.Name
	return nil
}

// clean deletes the namespace and waits until it and its volumes are gone: the cloud
// controller manager deletes the load balancer before, and Cinder CSI the volume.
func (r *run) clean(ctx context.Context) (string, error) {
	if err := r.Client.CoreV1().Namespaces().Delete(ctx, r.namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("deleting namespace %s: %w", r.namespace, err)
	}
	r.empty(ctx)
	var left string
	err := r.until(ctx, func() (bool, error) {
		if r.Name == Conformance {
			if err := r.cleanTests(ctx); err != nil {
				return false, err
			}
		}
		namespace, err := r.Client.CoreV1().Namespaces().Get(ctx, r.namespace, metav1.GetOptions{})
		if err == nil {
			left = "namespace " + r.namespace + because(namespace.Status.Conditions)
			return false, nil
		}
		if !apierrors.IsNotFound(err) {
			return false, err
		}
		if r.Name == Conformance {
			if tests, err := r.testNamespaces(ctx); err != nil || len(tests) > 0 {
				left = fmt.Sprintf("%d namespaces of the tests", len(tests))
				return false, err
			}
		}
		volumes, err := r.Client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, v := range volumes.Items {
			if v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == r.namespace && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
				left = "volume " + v.Name + " " + v.Status.Message
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return "", fmt.Errorf("%w; still there: %s", err, left)
	}
	return "nothing is left", nil
}

// empty deletes what takes time to go. The namespace's controller does so, too, but begins after 5
// seconds, and waits again for pods that have not ended by then (namespaceDeletionGracePeriod in
// k8s.io/kubernetes/pkg/controller/namespace). What is not deleted here is left to it.
func (r *run) empty(ctx context.Context) {
	core := r.Client.CoreV1()
	_ = core.Pods(r.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	_ = core.PersistentVolumeClaims(r.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	services, err := core.Services(r.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, s := range services.Items {
		_ = core.Services(r.namespace).Delete(ctx, s.Name, metav1.DeleteOptions{})
	}
}

func because(conditions []corev1.NamespaceCondition) string {
	for _, c := range conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return ": " + c.Message
		}
	}
	return ""
}

// until looks again and again until something is done. A look that fails is an error only if
// there is no time for another. One that the time ended says nothing: the one before does.
func (r *run) until(ctx context.Context, done func() (bool, error)) error {
	var last error
	for {
		is, err := done()
		if is && err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if last != nil {
				return fmt.Errorf("%w; last: %w", context.Cause(ctx), last)
			}
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}
