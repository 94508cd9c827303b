package kubetest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestTwoServersBesideEachOther(t *testing.T) {
	t.Parallel()
	for _, server := range []*Server{Start(t), Start(t)} {
		client, err := kubernetes.NewForConfig(server.Config)
		if err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one"}, StringData: map[string]string{"a": "b"}}
		// Created on both: they do not share their state.
		if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
