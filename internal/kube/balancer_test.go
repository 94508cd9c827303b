package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatEndsTheWaitForALoadBalancer: a refusal since the wait began, and not while the
// controller tries again or what it says may pass.
func TestWhatEndsTheWaitForALoadBalancer(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	const quota = "Error syncing load balancer: failed to ensure load balancer: Quota has been met for resources: Load Balancer (403)"
	for name, test := range map[string]struct {
		kind, message string
		at            time.Time
		want          bool
	}{
		"quota":                      {corev1.EventTypeWarning, quota, began.Add(time.Minute), true},
		"in the second of the start": {corev1.EventTypeWarning, quota, began, true},
		"quota of an earlier run":    {corev1.EventTypeWarning, quota, began.Add(-time.Minute), false},
		"it tries again":             {corev1.EventTypeNormal, "Ensuring load balancer", began.Add(time.Minute), false},
		"the cloud is busy":          {corev1.EventTypeWarning, "Error syncing load balancer: got 503 instead: Service Unavailable", began.Add(time.Minute), false},
		"nothing is told":            {"", "", time.Time{}, false},
	} {
		if got := refuses(corev1.Event{Type: test.kind, Message: test.message, LastTimestamp: metav1.NewTime(test.at)}, began); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
