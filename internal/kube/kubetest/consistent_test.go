package kubetest

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/typed/core/v1"
)

// TestListSeesWrites: a list without a resource version has what was written
// before it, as Kubernetes promises and Helm relies on. The API server answers
// from its cache as soon as kine says that the cache has all; kine said so too
// early (k3s-io/kine#731), a few times in a thousand when processors are busy.
func TestListSeesWrites(t *testing.T) {
	t.Parallel()
	server := Start(t)
	config := *server.Config
	config.QPS = -1
	client, err := kubernetes.NewForConfig(&config)
	if err != nil {
		t.Fatal(err)
	}
	const writers, writes = 8, 250
	var wg sync.WaitGroup
	for writer := range writers {
		wg.Go(func() {
			if err := writeAndList(t, client.CoreV1().Secrets("default"), fmt.Sprintf("one-%d", writer), writes); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// writeAndList changes an object's label and lists by it, again and again.
func writeAndList(t *testing.T, secrets v1.SecretInterface, name string, writes int) error {
	secret, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for write := range writes {
		secret.Labels = map[string]string{"writer": name, "write": strconv.Itoa(write)}
		if secret, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			return err
		}
		list, err := secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "writer=" + name})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].ResourceVersion != secret.ResourceVersion {
			t.Errorf("write %d of %s: written as revision %s, listed: %d, %v", write, name, secret.ResourceVersion, len(list.Items), revisions(list.Items))
		}
	}
	return nil
}

func revisions(secrets []corev1.Secret) (all []string) {
	for _, s := range secrets {
		all = append(all, s.ResourceVersion)
	}
	return all
}
