package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// applyTime bounds one attempt to apply a package; the next look tries again.
const applyTime = time.Minute

// check looks whether the objects of a plan may be applied: into namespaces of the
// project, over nothing of somebody else, and as the API server accepts them.
func (j *job) check(ctx context.Context, p *plan) error {
	if err := j.mine(ctx, p); err != nil {
		return err
	}
	for _, o := range p.objects {
		if _, later := p.defined[o.GroupVersionKind().GroupKind()]; later || p.made[o.GetNamespace()] {
			continue // what it needs is applied before it
		}
		client, err := j.kube.Resource(o)
		if err == nil {
			_, err = client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: kube.FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
		}
		if err != nil {
			return refuse(statusOf(err), "%s: %v", kube.Describe(o), err)
		}
	}
	return nil
}

// mine checks namespaces and owners.
func (j *job) mine(ctx context.Context, p *plan) error {
	allowed := map[string]bool{"": true, j.op.Namespace: true}
	for _, o := range p.objects {
		namespace := o.GetNamespace()
		if !allowed[namespace] && !p.made[namespace] {
			if err := j.lent(ctx, namespace); err != nil {
				return err
			}
			allowed[namespace] = true
		}
		if _, later := p.defined[o.GroupVersionKind().GroupKind()]; later {
			continue
		}
		there, err := j.find(ctx, refOf(o))
		if err != nil {
			return err
		}
		if there != nil && there.GetLabels()[v1alpha1.LabelInstance] != j.instance.Name {
			return refuse(http.StatusConflict, "%s exists and is not of this instance", kube.Describe(o))
		}
	}
	return nil
}

// lent reports whether the operator lets the project into a namespace. It is asked with the
// endpoint's rights: the caller's token may not read namespaces.
func (j *job) lent(ctx context.Context, namespace string) error {
	n, err := j.o.Kube.Typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	if err != nil || n.Labels[v1alpha1.LabelProject] != j.op.Spec.ProjectID {
		return refuse(http.StatusForbidden, "namespace %s is not the project's; use %s, or let the operator label it %s=%s", namespace, j.op.Namespace, v1alpha1.LabelProject, j.op.Spec.ProjectID)
	}
	return nil
}

// apply applies a plan. One is applied at a time, so that two instances do not take the
// same object.
func (j *job) apply(ctx context.Context, p *plan) error {
	j.o.applying.Lock()
	defer j.o.applying.Unlock()
	if err := j.mine(ctx, p); err != nil {
		return err
	}
	if err := j.own(ctx, p.refs()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, applyTime)
	defer cancel()
	return j.kube.ApplyObjects(ctx, p.objects)
}

func object(ref v1alpha1.ObjectRef) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	o.SetNamespace(ref.Namespace)
	o.SetName(ref.Name)
	return o
}

// find reads an object; nil if it, or its kind, is not there. An API server that starts does not
// name the kinds of definitions yet; who asks for an object of one is answered 503 until it does.
func (j *job) find(ctx context.Context, ref v1alpha1.ObjectRef) (*unstructured.Unstructured, error) {
	client, err := j.kube.Resource(object(ref))
	if meta.IsNoMatchError(err) {
		resource, _ := meta.UnsafeGuessKindToResource(object(ref).GroupVersionKind())
		client, err = j.kube.Dynamic.Resource(resource).Namespace(ref.Namespace), nil
	}
	if err == nil {
		var found *unstructured.Unstructured
		if found, err = client.Get(ctx, ref.Name, metav1.GetOptions{}); err == nil {
			return found, nil
		}
	}
	if kube.Absent(err) {
		return nil, nil
	}
	return nil, fmt.Errorf("reading %s: %w", kube.Describe(object(ref)), err)
}

// remove deletes an object of the instance; the text says that it is still there. What
// is not the instance's stays.
func (j *job) remove(ctx context.Context, ref v1alpha1.ObjectRef) (string, error) {
	there, err := j.find(ctx, ref)
	if err != nil || there == nil || there.GetLabels()[v1alpha1.LabelInstance] != j.instance.Name {
		return "", err
	}
	if there.GetDeletionTimestamp() == nil {
		client, err := j.kube.Resource(there)
		if err == nil {
			uid := there.GetUID()
			background := metav1.DeletePropagationBackground
			err = client.Delete(ctx, ref.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
		}
		if err != nil && !kube.Absent(err) {
			return "", fmt.Errorf("deleting %s: %w", kube.Describe(there), err)
		}
	}
	return "deletion of " + kube.Describe(there) + said(there, "Deleting"), nil
}

// removeAll deletes in reverse order, Clusters first and alone: their credential and
// templates are needed until they are gone.
func (j *job) removeAll(ctx context.Context, refs []v1alpha1.ObjectRef, first func(v1alpha1.ObjectRef) bool) (string, error) {
	refs = slices.Clone(refs)
	slices.Reverse(refs)
	for _, early := range []bool{true, false} {
		waiting := ""
		for _, ref := range refs {
			if first(ref) != early {
				continue
			}
			text, err := j.remove(ctx, ref)
			if err != nil {
				return "", err
			}
			if waiting == "" {
				waiting = text
			}
		}
		if waiting != "" {
			return waiting, nil
		}
	}
	return "", nil
}

// replicas sets the number of a target.
func (j *job) replicas(ctx context.Context, t v1alpha1.Target, count int64) error {
	there, err := j.find(ctx, t.ObjectRef)
	if err != nil {
		return err
	}
	if there == nil {
		return refuse(http.StatusConflict, "%s does not exist", kube.Describe(object(t.ObjectRef)))
	}
	if now, ok, _ := unstructured.NestedInt64(there.Object, "spec", "replicas"); ok && now == count {
		return nil
	}
	return j.patch(ctx, there, fmt.Sprintf(`{"spec":{"replicas":%d}}`, count))
}

func (j *job) patch(ctx context.Context, o *unstructured.Unstructured, body string) error {
	client, err := j.kube.Resource(o)
	if err == nil {
		_, err = client.Patch(ctx, o.GetName(), types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: kube.FieldManager})
	}
	if err != nil {
		return fmt.Errorf("changing %s: %w", kube.Describe(o), err)
	}
	return nil
}

// statusOf is the status of what the API server refused.
func statusOf(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500 {
		return status.Status().Code
	}
	return http.StatusInternalServerError
}

// passing reports whether an error is expected to go away by itself.
func passing(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || kube.Away(err)
}
