package undo

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// startTime is how long the former controllers may take to be available.
const startTime = 10 * time.Minute

// Wait waits until Deployments are available. It is a part of Run so that tests without
// nodes can be without it.
type Wait func(ctx context.Context, names []types.NamespacedName, progress func(string)) error

// Definitions are the CustomResourceDefinitions of a cluster, with their status.
func Definitions(ctx context.Context, on *kube.Cluster) (all []*unstructured.Unstructured, err error) {
	resource, err := on.Everywhere(definitionKind())
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	for next := ""; ; {
		found, err := resource.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return nil, fmt.Errorf("listing definitions: %w", err)
		}
		for i := range found.Items {
			found.Items[i].SetGroupVersionKind(definitionKind())
			all = append(all, &found.Items[i])
		}
		if next = found.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// Run takes the controllers back. The controllers come first and the definitions last: the
// former controllers work with the newer definitions, which know all that theirs do, and not
// the newer controllers with the former ones. Then goes what the newer controllers brought.
// It may be ended anywhere and run again; of what is done already nothing is written.
func (p *Plan) Run(ctx context.Context, on *kube.Cluster, available Wait, progress func(string)) error {
	var running, definitions []*unstructured.Unstructured
	var deployments []types.NamespacedName
	for _, o := range p.former {
		if o.GetKind() == kindDeployment {
			deployments = append(deployments, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
		}
		switch {
		case !p.changed[key(o)]:
		case o.GetKind() == kindDefinition:
			definitions = append(definitions, o)
		default:
			running = append(running, o)
		}
	}
	progress(fmt.Sprintf("applying %d objects of the former controllers", len(running)))
	if err := on.ApplyObjects(ctx, running); err != nil {
		return err
	}
	starting, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("the former controllers were not available in time"))
	defer cancel()
	if err := available(starting, deployments, progress); err != nil {
		return err
	}
	progress(fmt.Sprintf("applying %d definitions", len(definitions)))
	if err := on.ApplyObjects(ctx, definitions); err != nil {
		return err
	}
	for _, o := range p.remove {
		progress("removing " + recovery.Describe(o))
		if err := remove(ctx, on, o); err != nil {
			return err
		}
	}
	return nil
}

// goneTime bounds the wait for an object whose dependents go first.
const goneTime = 45 * time.Second

// remove deletes an object with what depends on it, and waits until it is gone; one that is
// gone already is fine.
func remove(ctx context.Context, on *kube.Cluster, o *unstructured.Unstructured) error {
	client, err := on.Resource(o)
	if err == nil {
		foreground := metav1.DeletePropagationForeground
		err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
	}
	if err == nil {
		err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, goneTime, true, func(ctx context.Context) (bool, error) {
			_, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
			if kube.Absent(err) {
				return true, nil
			}
			return false, err
		})
	}
	if err != nil && !kube.Absent(err) {
		return fmt.Errorf("removing %s: %w", recovery.Describe(o), err)
	}
	return nil
}

// What clusterctl keeps its inventory in.
const providerGroup, providerKind = "clusterctl.cluster.x-k8s.io", "Provider"

// Providers brings clusterctl's inventory back, in which the versions of Cluster API's
// providers are, from the objects of the backup.
func Providers(ctx context.Context, on *kube.Cluster, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if kind := o.GroupVersionKind(); kind.Group != providerGroup || kind.Kind != providerKind {
			continue
		}
		version, _, _ := unstructured.NestedString(o.Object, "version")
		client, err := on.Resource(o)
		if err == nil {
			_, err = client.Patch(ctx, o.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"version":%q}`, version), metav1.PatchOptions{FieldManager: kube.FieldManager})
		}
		if err != nil && !kube.Absent(err) {
			return fmt.Errorf("writing the version of %s: %w", recovery.Describe(o), err)
		}
	}
	return nil
}
