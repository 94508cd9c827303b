package kubernetes

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube"
)

// TestARefusedLoginIsExplained by the clock of the API server, if that is why; what else refuses
// one stays as it was said.
func TestARefusedLoginIsExplained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		off  time.Duration
		err  error
		says string
	}{
		"wrong clock":   {-6 * time.Hour, fmt.Errorf("reading definitions: %w", apierrors.NewUnauthorized("no")), "behind this machine's"},
		"right clock":   {0, apierrors.NewUnauthorized("no"), "no"},
		"another error": {-6 * time.Hour, errors.New("a webhook refuses"), "a webhook refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(test.off).UTC().Format(http.TimeFormat))
				w.WriteHeader(http.StatusUnauthorized)
			}))
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL}
			kube.ExplainClock(config)
			on, err := kube.New(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := refusedLogin(t.Context(), on, test.err); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}
