package kube

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// silentFirst is an API server that gives no answer to the first requests.
type silentFirst struct{ silent, asked int }

func (s *silentFirst) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.asked++; s.asked <= s.silent {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		Body: io.NopCloser(strings.NewReader(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "a"}}`))}, nil
}

// noReset is a mapper that has nothing to forget.
type noReset struct{ meta.RESTMapper }

func (noReset) Reset() {}

// TestARequestWithoutAnAnswerIsMadeAgain: a load balancer that loses a request must not hold
// an installation until its end. Whoever wants less ends the context.
func TestARequestWithoutAnAnswerIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		silent int
		limit  time.Duration
		fails  bool
		took   time.Duration
	}{
		"answers":          {0, time.Hour, false, 0},
		"silent once":      {1, time.Hour, false, attemptTime + tryAgain},
		"silent for ever":  {1000, time.Hour, true, applyPatience + 2*attemptTime},
		"the caller stops": {1000, 10 * time.Second, true, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &silentFirst{silent: test.silent}
				client, err := dynamic.NewForConfig(&rest.Config{Host: "https://silent", Transport: server, QPS: -1})
				if err != nil {
					t.Fatal(err)
				}
				mapper := meta.NewDefaultRESTMapper(nil)
				mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
				on := &Cluster{Dynamic: client, mapper: noReset{mapper}}
				ctx, cancel := context.WithTimeout(t.Context(), test.limit)
				defer cancel()
				begun := time.Now()
				err = on.apply(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "a"}}})
				if took := time.Since(begun); (err != nil) != test.fails || took > test.took {
					t.Errorf("%v after %s and %d requests", err, took, server.asked)
				}
			})
		})
	}
}
