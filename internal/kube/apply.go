package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// applyParallel is how many objects are applied at once.
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

// Apply applies the objects of a manifest by server-side apply. It goes in waves, each
// in parallel: namespaces and CustomResourceDefinitions, then built-in kinds, then what runs
// pods, when the definitions are served, and then the newly defined kinds.
func (c *Cluster) Apply(ctx context.Context, manifests []byte) error {
	objects, err := Decode(bytes.NewReader(manifests))
	if err != nil {
		return err
	}
	return c.ApplyObjects(ctx, objects)
}

// ApplyObjects is Apply for decoded objects. It retries objects whose webhook is not
// ready yet, and kinds that are just being defined.
func (c *Cluster) ApplyObjects(ctx context.Context, objects []*unstructured.Unstructured) error {
	return c.ApplyEach(ctx, objects, Progress{})
}

// Progress is called, from several goroutines, while objects are applied. A nil function is left out.
type Progress struct {
	// Applied is called after each object.
	Applied func()
	// Unserved gets the name of a definition that the API server does not serve yet, again and
	// again. On an emulated machine it takes minutes for all of a hundred.
	Unserved func(definition string)
}

// ApplyEach is ApplyObjects that tells how far it is.
func (c *Cluster) ApplyEach(ctx context.Context, objects []*unstructured.Unstructured, progress Progress) error {
	applied, unserved := progress.Applied, progress.Unserved
	if applied == nil {
		applied = func() {}
	}
	if unserved == nil {
		unserved = func(string) {}
	}
	all := waves(objects)
	for i, wave := range all {
		if i == workloadWave && len(wave) > 0 {
			if err := c.AwaitServed(ctx, all[0], unserved); err != nil {
				return err
			}
		}
		if err := c.applyAll(ctx, wave, applied); err != nil {
			return err
		}
	}
	return nil
}

const definition = "CustomResourceDefinition"

// workloadWave has what runs pods. A controller whose kinds are not served ends, and each time
// Kubernetes waits twice as long until it starts it again.
const workloadWave = 2

// waves are the objects in the order of their creation; those of one wave may
// be created at once.
func waves(objects []*unstructured.Unstructured) [4][]*unstructured.Unstructured {
	var all [4][]*unstructured.Unstructured
	defined := definedGroups(objects)
	for _, object := range objects {
		wave := 1
		switch {
		case object.GetKind() == "Namespace" || object.GetKind() == definition:
			wave = 0
		case defined[object.GroupVersionKind().Group]:
			wave = 3 // their webhooks run in pods of the wave before
		case isToken(object):
			wave = 3 // Kubernetes deletes a token whose service account is not there yet
		case slices.Contains(workloads(), object.GetKind()):
			wave = workloadWave
		}
		all[wave] = append(all[wave], object)
	}
	return all
}

// workloads are the kinds that run pods.
func workloads() []string {
	return []string{"Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "CronJob", "Pod"}
}

// isToken tells whether an object is a Secret that Kubernetes fills with the
// token of a service account.
func isToken(object *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(object.Object, "type")
	return object.GetKind() == "Secret" && kind == string(corev1.SecretTypeServiceAccountToken)
}

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

func (c *Cluster) applyAll(ctx context.Context, objects []*unstructured.Unstructured, applied func()) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(applyParallel)
	for _, object := range objects {
		group.Go(func() error {
			if err := c.apply(ctx, object); err != nil {
				return err
			}
			applied()
			return nil
		})
	}
	return group.Wait()
}

func (c *Cluster) apply(ctx context.Context, object *unstructured.Unstructured) error {
	what, attempts, silent := Describe(object), c.Attempts(), false
	var patience time.Time // from the first attempt on, which may have to queue
	for {
		client, err := c.Resource(object)
		if err == nil {
			silent, err = c.attempt(ctx, client, object)
		}
		if err == nil {
			return nil
		}
		if patience.IsZero() {
			patience = time.Now().Add(applyPatience)
		}
		if !passing(err) && !silent || time.Now().After(patience) || ctx.Err() != nil {
			return fmt.Errorf("applying %s: %w", what, err)
		}
		if vain := attempts.Vain(ctx, err); vain != nil {
			return fmt.Errorf("applying %s: %w", what, vain)
		}
		select {
		case <-ctx.Done():
		case <-time.After(tryAgain):
		}
	}
}

// attempt sends one request. It is silent if it never got an answer.
func (c *Cluster) attempt(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured) (silent bool, err error) {
	patience := attemptTime
	if object.GetKind() == definition {
		patience = definitionTime
		pace := c.paces.of(object)
		if err := pace.enter(ctx); err != nil {
			return false, err
		}
		defer func(began time.Time) { pace.leave(time.Since(began)) }(time.Now())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errNoAnswer)
	defer cancel()
	_, err = client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	return err != nil && context.Cause(ctx) == errNoAnswer, err
}

// attemptTime is how long one request may go without an answer: an API server answers
// within a minute, also that it is too slow. A request that never gets one, while control
// planes join and load balancers change, was seen to hold an installation until its end.
const attemptTime = 70 * time.Second

// definitionTime is the same of a request for a definition, for which a seed's API server takes
// up to five minutes (stacks/seed).
const definitionTime = 310 * time.Second

var errNoAnswer = errors.New("the API server did not answer")

// applyPatience is how long an object may be refused because something it needs is
// just being created, such as the webhook of cert-manager: seconds on a usual cloud,
// minutes on emulated machines. Callers with less patience end the context.
const applyPatience = 15 * time.Minute

// tryAgain is the time between two attempts.
const tryAgain = 200 * time.Millisecond

// passing reports whether an error is expected to go away while other objects are
// created, their controllers start, and control planes join.
func passing(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || Away(err)
}

// WebhookAway reports whether a request was refused because a webhook that must judge it did
// not answer, as while its controller starts. Of an upgrade by Helm's library it reports whether
// all objects that were refused were so: it joins their texts and drops their types
// (Client.Update in helm.sh/helm/v3/pkg/kube).
func WebhookAway(err error) bool {
	if err == nil {
		return false
	}
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return apierrors.IsInternalError(err) && strings.Contains(err.Error(), webhookFailed)
	}
	for text := range strings.SplitSeq(err.Error(), " && ") {
		if !strings.Contains(text, "Internal error occurred: "+webhookFailed) {
			return false
		}
	}
	return true
}

const webhookFailed = "failed calling webhook"

// Resource finds the resource of an object's kind. It looks an unknown kind up a second
// time, because its definition may have just been created.
func (c *Cluster) Resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapping(object.GroupVersionKind())
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

// Namespaced reports whether objects of a kind are in namespaces.
func (c *Cluster) Namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := c.mapping(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
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

// Absent reports whether an error means that an object, or its kind, does not exist.
func Absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// Everywhere returns the resource of a kind in all namespaces.
func (c *Cluster) Everywhere(kind schema.GroupVersionKind) (dynamic.NamespaceableResourceInterface, error) {
	mapping, err := c.mapping(kind)
	if err != nil {
		return nil, err
	}
	return c.Dynamic.Resource(mapping.Resource), nil
}

// mapping looks an unknown kind up a second time.
func (c *Cluster) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return mapping, err
}
