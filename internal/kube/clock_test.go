package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAWrongClockIsTold where an API server says "Unauthorized" alone; other refusals stay as
// they are.
func TestAWrongClockIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		off    time.Duration
		says   string
	}{
		"behind":    {http.StatusUnauthorized, -6 * time.Hour, "its clock is 6h behind this machine's"},
		"ahead":     {http.StatusUnauthorized, 800*24*time.Hour + time.Hour, "its clock is 2y70d ahead of this machine's"},
		"right":     {http.StatusUnauthorized, -20 * time.Second, ""},
		"forbidden": {http.StatusForbidden, -6 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(test.off).UTC().Format(http.TimeFormat))
				w.WriteHeader(test.status)
			}))
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL}
			ExplainClock(config)
			cluster, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = cluster.Typed.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			switch {
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(fault.Remedy(err), "time server")):
				t.Errorf("%v (%s)", err, fault.Remedy(err))
			case test.says == "" && !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err):
				t.Errorf("%v", err)
			}
		})
	}
}
