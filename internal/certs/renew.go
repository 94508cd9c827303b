package certs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// pausedAnnotation pauses one object of a cluster, whose other objects go on.
const pausedAnnotation = "cluster.x-k8s.io/paused"

func controlPlanes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"}
}

// Renewal replaces the machines of a control plane, one after the other: a new machine has
// new certificates.
type Renewal struct {
	On              *kube.Cluster
	Namespace, Name string
	// After is the time before which a machine was made that is replaced.
	After time.Time

	plane string
}

// Ask has Cluster API replace the machines. A rollout that was asked for and is not done is
// gone on with (resumed): no machine is replaced twice.
func (r *Renewal) Ask(ctx context.Context, now time.Time) (resumed bool, err error) {
	all, err := clusterapi.ReadAll(ctx, r.On.Dynamic, r.Namespace)
	if err != nil {
		return false, err
	}
	objects := all.Scene(r.Namespace, r.Name)
	planes := objects["KubeadmControlPlane"]
	if len(planes) == 0 {
		return false, fault.New("cluster "+r.Namespace+"/"+r.Name, errors.New("it has no control plane of Cluster API's kubeadm provider"), "renew its certificates where its control plane is managed")
	}
	if paused, _, _ := unstructured.NestedBool(objects["Cluster"][0].Object, "spec", "paused"); paused {
		return false, fault.New("cluster "+r.Namespace+"/"+r.Name, errors.New("it is paused: Cluster API would replace nothing"), "find out who paused it, and set spec.paused of its Cluster to false")
	}
	r.plane = planes[0].GetName()
	if _, paused := planes[0].GetAnnotations()[pausedAnnotation]; paused {
		return false, fault.New("KubeadmControlPlane "+r.Namespace+"/"+r.plane, errors.New("it is paused: Cluster API would replace nothing"), "find out who paused it, and remove its annotation "+pausedAnnotation)
	}
	if after, asked := rolloutAfter(planes[0]); asked && !after.After(now) && r.older(objects["Machine"], after) {
		r.After = after
		return true, nil
	}
	r.After = now.UTC().Truncate(time.Second)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"rollout": map[string]any{"after": r.After.Format(time.RFC3339)}}})
	if err != nil {
		return false, fmt.Errorf("writing the time of the rollout: %w", err)
	}
	if _, err := r.On.Dynamic.Resource(controlPlanes()).Namespace(r.Namespace).Patch(ctx, r.plane, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager}); err != nil {
		return false, fmt.Errorf("asking for a rollout of KubeadmControlPlane %s: %w", r.plane, err)
	}
	return false, nil
}

func rolloutAfter(plane *unstructured.Unstructured) (time.Time, bool) {
	text, _, _ := unstructured.NestedString(plane.Object, "spec", "rollout", "after")
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// older reports whether a machine of the control plane is to be replaced.
func (r *Renewal) older(machines []*unstructured.Unstructured, after time.Time) bool {
	for _, m := range machines {
		if _, plane := m.GetLabels()["cluster.x-k8s.io/control-plane"]; plane && m.GetCreationTimestamp().Time.Before(after) {
			return true
		}
	}
	return false
}

// Await waits until all machines of the control plane are new and ready. It ends early with
// the cause if that cannot happen.
func (r *Renewal) Await(ctx context.Context, progress func(string)) error {
	_, err := clusterapi.Await(ctx, r.On.Dynamic, r.Namespace, r.Name, r.done, func(report clusterapi.Report) { progress(report.OnlyControlPlane().Progress()) })
	return err
}

func (r *Renewal) done(report clusterapi.Report) bool {
	if !report.ControlPlaneReady() {
		return false
	}
	planes := 0
	for _, m := range report.Machines {
		if m.Role != clusterapi.RoleControlPlane {
			continue
		}
		if planes++; m.Created.Before(r.After) {
			return false
		}
	}
	return planes > 0
}
