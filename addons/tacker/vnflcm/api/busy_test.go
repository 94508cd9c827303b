package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

// members take each token as that of a member of a project of its name.
type members struct{}

func (members) Validate(_ context.Context, token, _ string) (*keystone.Token, error) {
	return &keystone.Token{ID: token, UserID: "user", ProjectID: token, Roles: []string{"member", "reader"}}, nil
}

// TestABusyServerAnswersWhatItCan: writes above the bound are to be tried again, and count for
// their route; other projects, and what takes no room, are served.
func TestABusyServerAnswersWhatItCan(t *testing.T) {
	t.Parallel()
	rules, err := policy.Of("the endpoint", PolicyDefaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := openstackapi.NewAddresses("http://vnflcm.example", view.Root, false)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	refused := map[string]int{}
	s, err := New(Options{Worker: &worker.Options{}, Tokens: members{}, Policy: rules, AuthURL: "http://keystone", Addresses: addresses,
		MaxWrites: 2, QueueTime: 20 * time.Millisecond, Observe: func(method, route string, status int, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			if status == http.StatusServiceUnavailable {
				refused[method+" "+route]++
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	do := func(project, method, path string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, body)
		r.Header.Set("X-Auth-Token", project)
		r.Header.Set("Version", "2.0.0")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const instances = "/vnflcm/v2/vnf_instances"
	bad := func() io.Reader { return strings.NewReader(`{"more": 1}`) }
	slow, sent := io.Pipe()
	first := make(chan int, 1)
	go func() { first <- do("shop", http.MethodPost, instances, slow).Code }()
	if _, err := sent.Write([]byte(`{"more":`)); err != nil { // when it is read, the request has its place
		t.Fatal(err)
	}
	w := do("shop", http.MethodPost, instances, bad())
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "The server is busy with other writes. Try again.") {
		t.Errorf("the second of a project: %d %v %s", w.Code, w.Header(), w.Body)
	}
	for want, got := range map[int]int{
		http.StatusBadRequest:       do("bank", http.MethodPost, instances, bad()).Code,
		http.StatusOK:               do("shop", http.MethodGet, "/healthcheck", nil).Code,
		http.StatusMethodNotAllowed: do("shop", http.MethodPut, instances, bad()).Code,
	} {
		if got != want {
			t.Errorf("beside a busy project: %d instead of %d", got, want)
		}
	}
	if _, err := sent.Write([]byte(` 1}`)); err != nil {
		t.Fatal(err)
	}
	sent.Close()
	if code := <-first; code != http.StatusBadRequest {
		t.Errorf("the first ended with %d", code)
	}
	if code := do("shop", http.MethodPost, instances, bad()).Code; code != http.StatusBadRequest {
		t.Errorf("after the first: %d", code)
	}
	if len(refused) != 1 || refused["POST "+instances] != 1 {
		t.Errorf("refused: %v", refused)
	}
}
