// Package undo takes the controllers of a management cluster back to what slipway up
// applied before an upgrade: what was applied then is in the backup that up made.
package undo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"
	"k8s.io/kube-openapi/pkg/util/proto"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// parallel is how many lists are read at once, page how many objects one request lists.
const (
	parallel = 16
	page     = 250
)

// namespaced returns the kinds that are looked for in the namespaces of controllers; clusterwide
// returns those without a namespace. TestKindsAreKnown compares both with what `up` applies.
func namespaced() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"}, {Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "batch", Version: "v1", Kind: "CronJob"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}, {Group: "cert-manager.io", Version: "v1", Kind: "Issuer"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	}
}

func clusterwide() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, {Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}, definitionKind(),
	}
}

func definitionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: kindDefinition}
}

const (
	kindDefinition = "CustomResourceDefinition"
	kindDeployment = "Deployment"
	kindSecret     = "Secret"
)

// Applied is what slipway up applied on a management cluster: each object with the fields
// that it wrote and no others, so that applying them again makes the others what they were.
type Applied []*unstructured.Unstructured

// Read reads what is applied now, from the record that the API server keeps of who wrote
// which field. What others made, as cert-manager its certificates, is not in it.
func Read(ctx context.Context, on *kube.Cluster) (Applied, error) {
	kinds, err := schemas(on)
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the management cluster: %w", err)
	}
	var lists []list
	for _, kind := range clusterwide() {
		lists = append(lists, list{kind: kind})
	}
	for _, kind := range namespaced() {
		for _, namespace := range recovery.ControllerNamespaces() {
			lists = append(lists, list{kind: kind, namespace: namespace})
		}
	}
	found := make([]Applied, len(lists))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, one := range lists {
		group.Go(func() (err error) {
			found[i], err = one.read(ctx, on, kinds)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return cmp.Compare(key(a), key(b)) })
	return all, nil
}

// list is one list of objects.
type list struct {
	kind      schema.GroupVersionKind
	namespace string
}

func (l list) read(ctx context.Context, on *kube.Cluster, kinds *managedfields.GvkParser) (all Applied, err error) {
	resource, err := on.Everywhere(l.kind)
	if kube.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", l.kind.Kind, err)
	}
	var in dynamic.ResourceInterface = resource
	if l.namespace != "" {
		in = resource.Namespace(l.namespace)
	}
	for next := ""; ; {
		items, err := in.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", l.kind.Kind, err)
		}
		for i := range items.Items {
			o := &items.Items[i]
			o.SetGroupVersionKind(l.kind)
			if !applied(o) {
				continue
			}
			ours, err := written(o, kinds)
			if err != nil {
				return nil, fmt.Errorf("reading who wrote %s: %w", recovery.Describe(o), err)
			}
			all = append(all, ours)
		}
		if next = items.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// schemas are those of all kinds that the API server has.
func schemas(on *kube.Cluster) (*managedfields.GvkParser, error) {
	document, err := on.Typed.Discovery().OpenAPISchema()
	if err != nil {
		return nil, err
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		return nil, err
	}
	return managedfields.NewGVKParser(models, false)
}

// written are the fields of an object that slipway up applied. Of a kind whose schema is not
// published, as of one that was just defined, lists are taken whole.
func written(o *unstructured.Unstructured, kinds *managedfields.GvkParser) (*unstructured.Unstructured, error) {
	kind := typed.DeducedParseableType
	if known := kinds.Type(o.GroupVersionKind()); known != nil {
		kind = *known
	}
	ours := &unstructured.Unstructured{}
	if err := managedfields.ExtractInto(o, kind, kube.FieldManager, ours, ""); err != nil {
		return nil, err
	}
	ours.SetGroupVersionKind(o.GroupVersionKind())
	ours.SetNamespace(o.GetNamespace())
	ours.SetName(o.GetName())
	return ours, nil
}

// passing are objects that up writes and that are no part of its controllers: what it says
// of the environment is about now, whatever the controllers are.
func passing(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case kindSecret:
		return o.GetNamespace() == backup.SealedNamespace && o.GetName() == backup.SealedName
	case "Namespace": // others are of workload clusters
		return !slices.Contains(recovery.ControllerNamespaces(), o.GetName())
	}
	return false
}

// applied reports whether slipway up applied an object.
func applied(o *unstructured.Unstructured) bool {
	return !passing(o) && slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == kube.FieldManager && f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == ""
	})
}

// key tells objects apart.
func key(o *unstructured.Unstructured) string {
	kind := o.GroupVersionKind()
	return kind.Group + "/" + kind.Kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

// Encode writes one object per line. It has Secrets in the clear.
func (a Applied) Encode() ([]byte, error) {
	var text bytes.Buffer
	for _, o := range a {
		line, err := json.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", recovery.Describe(o), err)
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	return text.Bytes(), nil
}

// Decode reads what Encode wrote.
func Decode(text []byte) (Applied, error) {
	var all Applied
	for line := range bytes.Lines(text) {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(line); err != nil {
			return nil, fmt.Errorf("reading the controllers of the backup: line %d is no object", len(all)+1) // the library's error could quote a Secret
		}
		all = append(all, o)
	}
	return all, nil
}
