package check

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestAPodWaitsForItsAccount: the first pod of a namespace comes before the service account that
// Kubernetes gives it. A pod that is refused for another reason is not asked for again.
func TestAPodWaitsForItsAccount(t *testing.T) {
	t.Parallel()
	for words, asked := range map[string]int{
		`error looking up service account x/default: serviceaccount "default" not found`: 2,
		"violates PodSecurity": 1,
	} {
		client, asks := fake.NewSimpleClientset(), 0
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if asks++; asks == 1 {
				return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New(words))
			}
			return false, nil, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		r := &run{Options: Options{Client: client}, namespace: "x"}
		err := r.makePod(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}})
		cancel()
		if asks != asked || (err == nil) != (asked == 2) || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("%s: asked %d times: %v", words, asks, err)
		}
	}
}
