package helm

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
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
