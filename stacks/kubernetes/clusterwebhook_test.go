package kubernetes

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// judge is a webhook that must judge Clusters, and does not run until it is started.
type judge struct {
	*httptest.Server
	refuses atomic.Bool
}

func newJudge(t *testing.T, on *kube.Cluster) *judge {
	t.Helper()
	j := &judge{}
	j.Server = httptest.NewUnstartedServer(http.HandlerFunc(j.answer))
	t.Cleanup(j.Close)
	// All test servers have the same certificate, which names the address and is its own authority.
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
	url, fails, none := "https://"+j.Listener.Addr().String(), admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	_, err := on.Typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "judge"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "judge.example.org", FailurePolicy: &fails, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{"cluster.x-k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"clusters"}}}},
		}},
	}, metav1.CreateOptions{})
	if err == nil {
		err = j.Listener.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (j *judge) answer(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	_ = json.NewDecoder(r.Body).Decode(&review)
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: !j.refuses.Load(), Result: &metav1.Status{Message: "not like this"}}
	_ = json.NewEncoder(w).Encode(review)
}

// begin runs the webhook where the API server looks for it.
func (j *judge) begin(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", j.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	j.Listener = listener
	j.StartTLS()
}

// TestAReleaseWaitsForWebhooks: on an emulated seed the kubelet started Cluster API's controllers
// again while the release was installed, and `up` gave up.
func TestAReleaseWaitsForWebhooks(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	on, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	server.Serve(t, []byte(clusterDefinition))
	judge := newJudge(t, on)
	clusters := on.Dynamic.Resource(clusterResource()).Namespace("default")
	probe := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": "probe"}}}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // the API server asks webhooks a moment later
		_, err := clusters.Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if kube.WebhookAway(err) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a Cluster is not judged: %v", err)
		}
	}
	in := ClusterInputs{Name: "c", Namespace: "default", Chart: smallChart(t)}
	done := make(chan error, 1)
	go func() { done <- release(t.Context(), on, server.Config, in, map[string]any{}) }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(3 * time.Second):
	}
	if _, err := clusters.Get(t.Context(), "c", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("without its webhook, the Cluster: %v", err)
	}
	judge.begin(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := clusters.Get(t.Context(), "c", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	judge.refuses.Store(true)
	in.Name = "refused"
	if err := release(t.Context(), on, server.Config, in, map[string]any{}); err == nil || !strings.Contains(fmt.Sprint(err), "not like this") {
		t.Errorf("a refusal: %v", err)
	}
}
