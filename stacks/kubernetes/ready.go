package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/remote"
)

// nodeTime bounds the wait for a node to become ready once k3s is running: 5 s on a usual
// cloud, minutes on emulated machines. A k3s that crashes ends it early.
const nodeTime = 15 * time.Minute

// ready waits until all images are there, the node is ready and the status of its pods is current:
// the data may come from a server that is gone (row S-01). It returns the version of the API.
func ready(ctx context.Context, m *remote.Machine, kubeconfig, node string) (string, error) {
	c, _, err := cluster(m, kubeconfig)
	if err != nil {
		return "", err
	}
	ctx, crashed := context.WithCancelCause(ctx)
	defer crashed(nil)
	go func() {
		if err := (host{m}).crashes(ctx); err != nil {
			crashed(err)
		}
	}()
	if err := (host{m}).imported(ctx); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, nodeTime, errors.New("the node was not ready in time"))
	defer cancel()
	status(ctx, "waiting for node "+node)
	if err := nodeReady(ctx, c, node); err != nil {
		return "", err
	}
	status(ctx, "waiting for the pods' status")
	if err := c.AwaitStatus(ctx, node, host{m}.containers); err != nil {
		return "", err
	}
	version, err := c.Typed.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("reading the version: %w", err)
	}
	return version.GitVersion, nil
}

func nodeReady(ctx context.Context, c *kube.Cluster, name string) error {
	nodes := cache.NewListWatchFromClient(c.Typed.CoreV1().RESTClient(), "nodes", metav1.NamespaceAll, fields.OneTermEqualSelector("metadata.name", name))
	why := "the node has not registered"
	_, err := toolswatch.UntilWithSync(ctx, nodes, &corev1.Node{}, nil, func(e watch.Event) (bool, error) {
		node, ok := e.Object.(*corev1.Node)
		if !ok {
			return false, nil
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				why = condition.Reason + ": " + condition.Message
				return condition.Status == corev1.ConditionTrue, nil
			}
		}
		return false, nil
	})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("node %s: %w; last seen: %s", name, err, why)
	}
	return nil
}
