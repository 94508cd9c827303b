package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// applyParallel is how many objects are applied at a time.
const applyParallel = 8

// Decode reads the objects of a stream of YAML documents.
func Decode(manifests io.Reader) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading manifest %d: %w", len(objects)+1, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Apply makes the objects of a manifest so, by server-side apply. What others
// need comes first: namespaces and definitions, then built-in kinds, then those
// that were just defined; all at once within each wave.
func (c *Cluster) Apply(ctx context.Context, manifests []byte) error {
	objects, err := Decode(bytes.NewReader(manifests))
	if err != nil {
		return err
	}
	return c.ApplyObjects(ctx, objects)
}

// ApplyObjects is Apply of objects. What a webhook that is not there yet would
// have to see, and kinds that are just being defined, are tried again.
func (c *Cluster) ApplyObjects(ctx context.Context, objects []*unstructured.Unstructured) error {
	var waves [3][]*unstructured.Unstructured
	defined := definedGroups(objects)
	for _, object := range objects {
		wave := 1
		switch {
		case object.GetKind() == "Namespace" || object.GetKind() == definition:
			wave = 0
		case defined[object.GroupVersionKind().Group]:
			wave = 2 // their webhooks run in what the wave before makes
		}
		waves[wave] = append(waves[wave], object)
	}
	for _, wave := range waves {
		if err := c.applyAll(ctx, wave); err != nil {
			return err
		}
	}
	return nil
}

const definition = "CustomResourceDefinition"

// definedGroups are the API groups of the definitions among objects.
func definedGroups(objects []*unstructured.Unstructured) map[string]bool {
	groups := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() == definition {
			group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
			groups[group] = true
		}
	}
	return groups
}

func (c *Cluster) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(applyParallel)
	for _, object := range objects {
		group.Go(func() error { return c.apply(ctx, object) })
	}
	return group.Wait()
}

func (c *Cluster) apply(ctx context.Context, object *unstructured.Unstructured) error {
	what := Describe(object)
	for patience := time.Now().Add(applyPatience); ; {
		client, err := c.Resource(object)
		if err == nil {
			_, err = client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
		}
		if err == nil {
			return nil
		}
		if !passing(err) || time.Now().After(patience) || ctx.Err() != nil {
			return fmt.Errorf("applying %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(tryAgain):
		}
	}
}

// applyPatience is how long an object may be refused for want of what is just
// being made.
const applyPatience = 3 * time.Minute

// passing reports whether an error goes away by itself while other objects are
// made, their controllers start, and control planes join.
func passing(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook") || Unsettled(err)
}

// Unsettled reports whether an error is what an API server says, or does not say,
// while a member joins its etcd: a leader that changes, time that runs out, a
// connection that ends. Asked again, it answers.
func Unsettled(err error) bool {
	for _, word := range []string{"etcdserver: leader changed", "etcdserver: no leader", "etcdserver: request timed out", "for learner"} {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// Resource finds the resource of an object's kind. A kind that is not known is
// looked up once more: its definition may just have been made.
func (c *Cluster) Resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	resource := c.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return resource.Namespace(namespace), nil
}

// Describe names an object for people: "Deployment capi-system/capi-controller-manager".
func Describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

// Exists reports whether the cluster serves a kind, such as one of an addon.
func (c *Cluster) Exists(group, kind string) (bool, error) {
	c.mapper.Reset()
	_, err := c.mapper.RESTMappings(schemaKind(group, kind))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Absent reports whether an error says that an object, or its kind, is not there.
func Absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// TryCreate creates the object of a manifest for show only, until the cluster
// accepts it or the context ends; the last refusal is told then.
func (c *Cluster) TryCreate(ctx context.Context, manifest []byte) error {
	objects, err := Decode(bytes.NewReader(manifest))
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.tryCreate(ctx, object); err != nil {
			return fmt.Errorf("trying %s: %w", Describe(object), err)
		}
	}
	return nil
}

// tryAgain is the time between two attempts.
const tryAgain = 200 * time.Millisecond

func (c *Cluster) tryCreate(ctx context.Context, object *unstructured.Unstructured) error {
	for {
		client, err := c.Resource(object)
		if err == nil {
			_, err = client.Create(ctx, object.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		}
		if err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(tryAgain):
		}
	}
}
