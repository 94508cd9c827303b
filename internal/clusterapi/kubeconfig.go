package clusterapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Kubeconfig returns the administrator's kubeconfig of a cluster. Cluster API creates
// it, and renews it long before its certificate expires. If there is none yet, the
// error satisfies apierrors.IsNotFound.
func Kubeconfig(ctx context.Context, client kubernetes.Interface, namespace, name string) (string, error) {
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	value := bytes.TrimSpace(secret.Data["value"])
	if len(value) == 0 {
		return "", fault.New("Secret "+namespace+"/"+secret.Name, errors.New("the secret has no kubeconfig under the key value"), "see the Cluster's conditions with slipway status")
	}
	return string(value), nil
}
