package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

func (f *fixture) fault(t *testing.T, rule faultinject.Rule) {
	t.Helper()
	if _, err := f.env.Faults.Add(rule); err != nil {
		t.Fatal(err)
	}
}

func TestInjectedAnswers(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.put(t, thing{ID: "1", Name: "worker-1"}, thing{ID: "2", Name: "control-1"})
	f.fault(t, faultinject.Rule{Service: "things", Method: "GET", Resource: "worker-*", Status: 503})
	f.fault(t, faultinject.Rule{Method: "POST", Resource: "unlucky", Status: 413, Body: `{"overLimit":{"code":413,"message":"Quota exceeded"}}`})
	f.fault(t, faultinject.Rule{Method: "DELETE", Path: "/v1/things/*", Status: 500, Body: "gateway is on fire", Nth: 2})
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"GET", "/1", "", 503, `"serviceUnavailable":{"code":503`},
		{"GET", "/2", "", 200, "control-1"},
		{"POST", "", `{"thing":{"id":"3","name":"unlucky"}}`, 413, "Quota exceeded"},
		{"POST", "", `{"thing":{"id":"4","name":"lucky"}}`, 201, "lucky"},
		{"DELETE", "/9", "", 204, ""},
		{"DELETE", "/9", "", 500, "gateway is on fire"},
		{"DELETE", "/9", "", 204, ""},
	} {
		got := f.call(t, c.method, "/things/v1/things"+c.path, "member", c.body)
		if got.status != c.status || !strings.Contains(got.text, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.text)
		}
	}
}

func TestInjectedDrop(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.fault(t, faultinject.Rule{Drop: true, Times: 1})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/things/v1/things", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := f.Client().Do(request); err == nil {
		response.Body.Close()
		t.Errorf("a dropped call got %s", response.Status)
	}
	if got := f.call(t, "GET", "/things/v1/things/1", "reader", ""); got.status != 404 {
		t.Errorf("the next call got %d", got.status)
	}
}

func TestInjectedDelayLetsTheCallPass(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.put(t, thing{ID: "1"})
	f.fault(t, faultinject.Rule{Delay: faultinject.Duration(30 * time.Millisecond)})
	begin := time.Now()
	if got := f.call(t, "GET", "/things/v1/things/1", "reader", ""); got.status != 200 {
		t.Errorf("a delayed call got %d", got.status)
	}
	if took := time.Since(begin); took < 30*time.Millisecond {
		t.Errorf("it took %s", took)
	}
}

func TestInjectedTokenExpiry(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.put(t, thing{ID: "1"})
	f.fault(t, faultinject.Rule{Kind: faultinject.TokenExpiry, Service: "things", Resource: "user", Times: 1})
	for i, want := range []int{401, 200} {
		if got := f.call(t, "GET", "/things/v1/things/1", "reader", ""); got.status != want {
			t.Errorf("call %d: %d, want %d", i+1, got.status, want)
		}
	}
}
