package helm

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// TestAReleaseThatCannotBeReadIsNotGone: its objects are still there, so who takes it away is to come
// again.
func TestAReleaseThatCannotBeReadIsNotGone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
			Reason: metav1.StatusReasonForbidden, Message: "not for you", Code: http.StatusForbidden})
	}))
	defer server.Close()
	client, err := New(&rest.Config{Host: server.URL}, "ours", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if there, err := client.Uninstall("test", 0); there || err == nil || !strings.Contains(err.Error(), "not for you") {
		t.Errorf("uninstalled: %t, %v", there, err)
	}
}

// TestAnUpgradeThatAWebhookEndsIsKnown: of several objects Helm's library keeps the texts alone.
func TestAnUpgradeThatAWebhookEndsIsKnown(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	client, err := New(server.Config, "ours", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	const two = configMap + "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\ndata: {key: {{ .Values.key }}}\n"
	wanted := Wanted{Name: "test", Chart: testChart(two), Values: map[string]any{"key": "a"}, Resume: true}
	if _, _, err := client.Ensure(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	url, none := "https://127.0.0.1:1/", admission.SideEffectClassNone // where nobody listens
	hook := admission.ValidatingWebhook{Name: "nobody.example.org", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none, ClientConfig: admission.WebhookClientConfig{URL: &url},
		Rules: []admission.RuleWithOperations{{Operations: []admission.OperationType{admission.Update}, Rule: admission.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}}
	hooks := typed.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), &admission.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "nobody"}, Webhooks: []admission.ValidatingWebhook{hook}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wanted.Values = map[string]any{"key": "b"}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) { // an API server sees its webhooks a little later
		if _, _, err = client.Ensure(t.Context(), wanted); err != nil || time.Now().After(end) {
			break
		}
		wanted.Values = map[string]any{"key": time.Now().String()}
	}
	if err == nil || strings.Count(err.Error(), "cannot patch") != 2 || !kube.Away(err) {
		t.Errorf("it is not known as away: %v", err)
	}
	if err := hooks.Delete(t.Context(), "nobody", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
