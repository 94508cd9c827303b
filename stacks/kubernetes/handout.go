package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/cloudconfig"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
)

// annotationHandOut is on a Cluster from before its release gets another credential until what
// runs on it was restarted with that: up revokes the former one at its end, and a run that is
// killed in between leaves it to the next.
const annotationHandOut = "slipway.sh/credential-hand-out"

// clusterResource is Cluster API's Cluster.
func clusterResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
}

// noteCredential notes on a Cluster that the values of its release get another credential than
// those of before.
func noteCredential(ctx context.Context, on *kube.Cluster, in ClusterInputs, before, now map[string]any) error {
	_, id := credentialIn(now)
	if _, former := credentialIn(before); id == "" || id == former {
		return nil
	}
	return markHandOut(ctx, on, types.NamespacedName{Namespace: in.Namespace, Name: in.Name}, id)
}

// markHandOut sets the annotation, or removes it if the value is nil.
func markHandOut(ctx context.Context, on *kube.Cluster, cluster types.NamespacedName, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotationHandOut: value}}})
	if err != nil {
		return fmt.Errorf("encoding an annotation: %w", err)
	}
	if _, err := on.Dynamic.Resource(clusterResource()).Namespace(cluster.Namespace).Patch(ctx, cluster.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager}); err != nil {
		return fmt.Errorf("annotating Cluster %s: %w", cluster.Name, err)
	}
	return nil
}

// credentialIn is the ID of the application credential that a chart's values give to what runs
// on the cluster, and the namespace where. It is empty if they give none.
func credentialIn(values map[string]any) (namespace, id string) {
	for _, path := range [][]string{{"addons", "enabled"}, {"addons", "openstack", "enabled"}} {
		if wanted, given, _ := unstructured.NestedBool(values, path...); given && !wanted {
			return "", ""
		}
	}
	word := func(path ...string) string {
		text, _, _ := unstructured.NestedString(values, path...)
		return text
	}
	if word("cloudCredentialsSecretName") != "" {
		return "", "" // the operator's own
	}
	return cmp.Or(word("addons", "openstack", "targetNamespace"), cloudconfig.Namespace), word("clouds", cmp.Or(word("cloudName"), "openstack"), "auth", "application_credential_id")
}

// handOut is what a cluster has yet to be given: what runs on it reads its credential once.
type handOut struct {
	parent  *kube.Cluster
	cluster types.NamespacedName
	// itself is nil if nothing is to be given.
	itself        kubernetes.Interface
	namespace, id string
	tell          func(string)
	// missing is what is missing still.
	missing string
}

// handOutOf finds out what a cluster has yet to be given.
func handOutOf(ctx context.Context, machine Way, at location, in ReadyClusterInputs) (*handOut, error) {
	h := &handOut{parent: at.Kube, cluster: types.NamespacedName{Namespace: in.Namespace, Name: in.Name}, tell: func(text string) { status(ctx, text) }}
	object, err := at.Kube.Dynamic.Resource(clusterResource()).Namespace(in.Namespace).Get(ctx, in.Name, metav1.GetOptions{})
	if kube.Absent(err) {
		return h, nil // the wait for it tells
	}
	if err != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", in.Name, err)
	}
	if object.GetAnnotations()[annotationHandOut] == "" {
		return h, nil
	}
	releases, err := helm.New(at.Config, in.Namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	last, err := releases.Last(in.Name)
	if err != nil || last == nil {
		return h, err
	}
	itself, err := Reach(machine, in.AdminKubeconfig)
	if err != nil {
		return nil, err
	}
	h.namespace, h.id = credentialIn(last.Config)
	h.itself = itself.Typed
	return h, nil
}

// done sees to it that what runs on the cluster has the credential, and reports whether it does.
func (h *handOut) done(ctx context.Context) bool {
	if h.itself == nil || h.id == "" {
		return true
	}
	missing, err := h.give(ctx)
	if err != nil {
		missing = err.Error()
	}
	if missing != "" && missing != h.missing {
		h.tell("giving the cluster its new credential: " + missing)
	}
	h.missing = missing
	return missing == ""
}

// give restarts what has the former credential, once the new one is there, and returns what is
// missing.
func (h *handOut) give(ctx context.Context) (missing string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	secret, err := h.itself.CoreV1().Secrets(h.namespace).Get(ctx, cloudconfig.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil // nothing runs that has read a former one
	}
	if err != nil {
		return "", fmt.Errorf("reading Secret %s/%s: %w", h.namespace, cloudconfig.Secret, err)
	}
	switch cloudconfig.ID(secret.Data[cloudconfig.Clouds]) {
	case h.id:
	case "": // another chart's, with another login
		return "", nil
	default:
		return fmt.Sprintf("Secret %s/%s on it has the former one", h.namespace, cloudconfig.Secret), nil
	}
	_, missing, err = cloudconfig.Restart(ctx, h.itself, h.namespace, h.id)
	if missing != "" {
		missing += " is not up again"
	}
	return missing, err
}

// explain adds to the error of the wait what was missing.
func (h *handOut) explain(err error) error {
	if h.missing == "" {
		return err
	}
	return fmt.Errorf("%w; giving the cluster its new credential: %s", err, h.missing)
}

// end notes that all has been given.
func (h *handOut) end(ctx context.Context) error {
	if h.itself == nil {
		return nil
	}
	return markHandOut(ctx, h.parent, h.cluster, nil)
}
