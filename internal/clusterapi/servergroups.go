package clusterapi

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// groupPause is the time between two checks of deleted server groups.
const groupPause = time.Second

// ServerGroups reads the server groups of a cluster.
func ServerGroups(ctx context.Context, client dynamic.Interface, namespace, name string) ([]*unstructured.Unstructured, error) {
	list, err := client.Resource(serverGroups).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + name})
	if apierrors.IsNotFound(err) { // their controller is not installed
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing server groups: %w", err)
	}
	var groups []*unstructured.Unstructured
	for i := range list.Items {
		groups = append(groups, &list.Items[i])
	}
	return groups, nil
}

// AwaitServerGroups waits until a cluster's server groups, which are deleted with its
// release, are also gone from OpenStack. Until then their controller and its
// credential are needed. It ends early if the cloud refuses the credential.
func AwaitServerGroups(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	return awaitGroups(ctx, client, namespace, name, NewLeftover(client, namespace, name))
}

// awaitGroups waits with what tells that it is in vain.
func awaitGroups(ctx context.Context, client dynamic.Interface, namespace, name string, l *Leftover) error {
	left := "server groups"
	for {
		list, err := client.Resource(serverGroups).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + name})
		switch {
		case apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0:
			return nil
		case context.Cause(ctx) != nil:
			return fmt.Errorf("deleting %s: %w", left, context.Cause(ctx))
		case err != nil:
			return fmt.Errorf("deleting %s: %w", left, err)
		}
		var groups []*unstructured.Unstructured
		for i := range list.Items {
			group := &list.Items[i]
			group.SetKind("ServerGroup") // lists may leave it out
			groups = append(groups, group)
		}
		part := serverGroupPart(groups[0])
		left = fmt.Sprintf("ServerGroup %s: %s %s", part.Name, part.State, part.Cause)
		if err := l.Vain(ctx, groups); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(groupPause):
		}
	}
}
