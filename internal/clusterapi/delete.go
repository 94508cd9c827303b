package clusterapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/kube"
)

// Delete deletes a cluster with its machines and waits until it is gone; it is no
// error if the cluster does not exist. First it sets the annotations on its
// OpenStackCluster: they decide what happens to resources that workloads created.
// progress is as in Await.
func Delete(ctx context.Context, client dynamic.Interface, namespace, name string, annotations map[string]string, progress func(Report)) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	infrastructure, err := infrastructureOf(ctx, client, namespace, name)
	if err != nil {
		return err
	}
	err = judged(ctx, func(ctx context.Context) error {
		_, err := client.Resource(openStackClusters).Namespace(namespace).Patch(ctx, infrastructure, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "slipway"})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("annotating OpenStackCluster %s: %w", infrastructure, err)
	}
	foreground := metav1.DeletePropagationForeground
	err = judged(ctx, func(ctx context.Context) error {
		return client.Resource(clusters).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting the cluster: %w", err)
	}
	_, err = await(ctx, client, namespace, name, deletion(), progress)
	return err
}

// deletion is the goal of a deletion. Nova deletes no server that somebody locked.
func deletion() goal {
	return goal{done: func(r Report) bool { return !r.Exists }, ends: stuck, also: []string{"server-locked"}}
}

// infrastructureOf is the name of a cluster's OpenStackCluster. Charts call it as the cluster,
// which is the answer for a cluster that is gone; a ClusterClass gives it a name of its own.
func infrastructureOf(ctx context.Context, client dynamic.Interface, namespace, name string) (string, error) {
	found, err := client.Resource(clusters).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if kube.Absent(err) {
		return name, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	return cmp.Or(text(found, "spec", "infrastructureRef", "name"), name), nil
}

// stuck reports whether a deletion cannot complete. The cause that kept a machine or
// a server group from becoming ready does not keep it from being deleted.
func stuck(p Part) bool { return p.Hopeless && p.Kind != "Machine" && p.Kind != "ServerGroup" }

// webhookPatience is how long a webhook of Cluster API may be away: an upgrade, or the loss
// of a node, starts its controller elsewhere within two minutes.
const webhookPatience = 2 * time.Minute

// judged repeats a request while a webhook that must judge it is away.
func judged(ctx context.Context, ask func(context.Context) error) error {
	end := time.Now().Add(webhookPatience)
	return kube.Insist(ctx, func(err error) bool { return kube.WebhookAway(err) && !time.Now().After(end) }, nil, ask)
}
