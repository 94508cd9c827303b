package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/ui"
)

// TestClientLogKeepsWhatFails wants nothing of requests that were given up, and
// every other failure.
func TestClientLogKeepsWhatFails(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := ClientLog(ui.Streams{Err: &out})
	log.Error(&url.Error{Op: "Get", URL: "https://seed:6443/", Err: context.Canceled}, "Failed to watch", "type", "*v1.Node")
	log.Error(context.DeadlineExceeded, "Unexpected error when reading response body")
	log.Info("Waited before sending request")
	log.Error(errors.New("failed to list *v1.Secret: apiserver not ready"), "Failed to watch", "reflector", "reflector.go:290", "type", "*v1.Secret")
	if out.Len() != 0 {
		t.Errorf("said %s", out.String())
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no role"))
	log.Error(fmt.Errorf("failed to list: %w", forbidden), "Failed to watch", "reflector", "reflector.go:290", "type", "*v1.Pod")
	if !strings.Contains(out.String(), "pods is forbidden") || !strings.Contains(out.String(), "*v1.Pod") {
		t.Errorf("said %q", out.String())
	}
}
