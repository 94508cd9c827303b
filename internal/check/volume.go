package check

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

// defaultClass marks the StorageClass that claims get that name none.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

const claim = "data"

// volume writes into a new volume, and reads it in another pod, on another node if there
// is one.
func (r *run) volume(ctx context.Context) (string, error) {
	class, err := r.class(ctx)
	if err != nil {
		return "", err
	}
	if err := r.claim(ctx, claim, class, nil); err != nil {
		return "", err
	}
	text := rand.Text()
	writer, err := r.withVolume(ctx, "writer", claim, "")
	if err == nil {
		_, err = r.Ask(ctx, r.namespace, writer.name, inside.PathWrite, url.Values{"token": {r.token}, "text": {text}})
	}
	if err != nil {
		return "", fmt.Errorf("writing: %w", err)
	}
	if err := r.Client.CoreV1().Pods(r.namespace).Delete(ctx, writer.name, metav1.DeleteOptions{}); err != nil {
		return "", fmt.Errorf("ending the pod that wrote: %w", err)
	}
	reader, err := r.withVolume(ctx, "reader", claim, writer.node)
	got := ""
	if err == nil {
		got, err = r.Ask(ctx, r.namespace, reader.name, inside.PathRead, url.Values{"token": {r.token}})
	}
	if err != nil {
		return "", fmt.Errorf("reading what node %s wrote: %w", writer.node, err)
	}
	if got != text {
		return "", fmt.Errorf("node %s reads something else than node %s wrote", reader.node, writer.node)
	}
	r.written = text
	return fmt.Sprintf("class %s: written on %s, read on %s", class, writer.node, reader.node), nil
}

// claim claims a volume, which has what its source has.
func (r *run) claim(ctx context.Context, name, class string, source *corev1.TypedLocalObjectReference) error {
	wanted := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, DataSource: source,
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}
	if _, err := r.Client.CoreV1().PersistentVolumeClaims(r.namespace).Create(ctx, wanted, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("claiming a volume of class %s: %w", class, err)
	}
	return nil
}

// class is the storage class to try.
func (r *run) class(ctx context.Context) (string, error) {
	if r.StorageClass != "" {
		return r.StorageClass, nil
	}
	list, err := r.Client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing storage classes: %w", err)
	}
	for _, c := range list.Items {
		if c.Annotations[defaultClass] == "true" {
			return c.Name, nil
		}
	}
	return "", errSkip("the cluster has no default storage class")
}

// withVolume starts a pod with the volume of a claim, rather not on a node, and waits for it.
func (r *run) withVolume(ctx context.Context, name, claim, not string) (pod, error) {
	spec := r.spec()
	spec.Containers[0].Args = append(spec.Containers[0].Args, "--dir", "/data")
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: claim, MountPath: "/data"}}
	spec.Volumes = []corev1.Volume{{Name: claim, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	if not != "" {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100,
			Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{not}}}}}}}}
	}
	if err := r.makePod(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}); err != nil {
		return pod{}, fmt.Errorf("making a pod: %w", err)
	}
	found, last := pod{name: name}, ""
	err := r.until(ctx, func() (bool, error) {
		p, err := r.Client.CoreV1().Pods(r.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		found.node, last = p.Spec.NodeName, state(*p)
		return isReady(*p), nil
	})
	if err != nil {
		return found, errors.Join(fmt.Errorf("%w; pod %s: %s", err, name, last), r.lastWarning(context.WithoutCancel(ctx)))
	}
	return found, nil
}

// lastWarning is the last warning event of the namespace, as an error; nil if there is none.
func (r *run) lastWarning(ctx context.Context) error {
	list, err := r.Client.CoreV1().Events(r.namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil || len(list.Items) == 0 {
		return nil
	}
	last := list.Items[0]
	for _, e := range list.Items {
		if e.LastTimestamp.After(last.LastTimestamp.Time) {
			last = e
		}
	}
	return fmt.Errorf("%s %s: %s", last.InvolvedObject.Kind, last.InvolvedObject.Name, last.Message)
}
