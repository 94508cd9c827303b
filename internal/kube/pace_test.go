package kube

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// busy is an API server with two processors, which gives a request up after a minute: its
// work is lost then.
type busy struct {
	// work is what a definition takes of one processor, large what one of much text takes.
	work, large time.Duration

	now, most, gaveUp atomic.Int64
}

func (b *busy) RoundTrip(request *http.Request) (*http.Response, error) {
	b.most.Store(max(b.most.Load(), b.now.Add(1)))
	defer b.now.Add(-1)
	const tick = 10 * time.Millisecond
	begun := time.Now()
	work := b.work
	if request.ContentLength >= largeDefinition {
		work = b.large
	}
	for left := work; left > 0; {
		time.Sleep(tick)
		left -= tick * time.Duration(min(2, b.now.Load())) / time.Duration(b.now.Load())
		if time.Since(begun) > time.Minute {
			b.gaveUp.Add(1)
			return answer(request, http.StatusGatewayTimeout, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Timeout", "code": 504}`), nil
		}
	}
	return answer(request, http.StatusCreated, `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}}`), nil
}

func definitionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: definition}
}

// cluster is one whose API server this is.
func (b *busy) cluster(t *testing.T) *Cluster {
	t.Helper()
	client, err := dynamic.NewForConfig(&rest.Config{Host: "https://busy", Transport: b, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(definitionKind(), meta.RESTScopeRoot)
	return &Cluster{Dynamic: client, mapper: noReset{mapper}, paces: newPaces()}
}

func answer(request *http.Request, code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: request, Body: io.NopCloser(strings.NewReader(body))}
}

// TestDefinitionsComeAsFastAsTheAPIServerTakesThem: on an emulated machine one takes twenty
// seconds, and eight at once would never be done; on a quick one they need not queue.
func TestDefinitionsComeAsFastAsTheAPIServerTakesThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		work, within time.Duration
		atOnce       int64
	}{
		"quick":    {50 * time.Millisecond, 2 * time.Second, applyParallel},
		"slow":     {4 * time.Second, 3 * time.Minute, 4},
		"emulated": {20 * time.Second, 15 * time.Minute, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &busy{work: test.work}
				on := server.cluster(t)
				begun := time.Now()
				// As an installation does: several parts at once.
				var parts sync.WaitGroup
				for part := range 2 {
					parts.Go(func() {
						var objects []*unstructured.Unstructured
						for i := range 20 {
							o := &unstructured.Unstructured{Object: map[string]any{}}
							o.SetGroupVersionKind(definitionKind())
							o.SetName(fmt.Sprintf("d%d.part%d.example.org", i, part))
							objects = append(objects, o)
						}
						if err := on.ApplyObjects(t.Context(), objects); err != nil {
							t.Error(err)
						}
					})
				}
				parts.Wait()
				took := time.Since(begun)
				if took > test.within || server.gaveUp.Load() > 0 || server.most.Load() > test.atOnce || test.atOnce == applyParallel && server.most.Load() < applyParallel {
					t.Errorf("%s, given up %d times, %d at once", took, server.gaveUp.Load(), server.most.Load())
				}
			})
		})
	}
}

// TestQuickSmallDefinitionsSayNothingOfLargeOnes: those come a few at a time from the beginning.
func TestQuickSmallDefinitionsSayNothingOfLargeOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &busy{work: 50 * time.Millisecond, large: 40 * time.Second}
		on := server.cluster(t)
		var objects []*unstructured.Unstructured
		for i := range 48 {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			o.SetGroupVersionKind(definitionKind())
			o.SetName(fmt.Sprintf("d%d.example.org", i))
			if i >= 40 {
				o.Object["text"] = strings.Repeat("a", largeDefinition)
			}
			objects = append(objects, o)
		}
		if err := on.ApplyObjects(t.Context(), objects); err != nil {
			t.Error(err)
		}
		if server.gaveUp.Load() > 0 {
			t.Errorf("given up %d times", server.gaveUp.Load())
		}
	})
}
