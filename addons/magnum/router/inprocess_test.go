package router

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAnAPIOfThisProcess is a management cluster as others are: requests reach it without a
// connection, with the address that the client used.
func TestAnAPIOfThisProcess(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	members := []Member{{Name: "one", Handler: f.sites["one"].handler}, f.members[1]}
	front := f.router(func(o *Options) { o.Members = members })
	f.sites["one"].front.CloseClientConnections()
	made := f.at(front, "shop/member", http.MethodPost, "/v1/clustertemplates", newTemplate("t")).want(http.StatusCreated, front.URL+"/v1/clustertemplates/")
	if got := f.placed("shop"); got != "one" {
		t.Fatalf("it is on %q", got)
	}
	uuid := made.body["uuid"].(string)
	f.at(front, "shop/member", http.MethodPatch, "/v1/clustertemplates/"+uuid, []map[string]any{{"op": "replace", "path": "/name", "value": "new"}}).want(http.StatusOK, `"new"`)
	f.at(front, "bank/member", http.MethodPost, "/v1/clustertemplates", newTemplate("u")).want(http.StatusCreated)
	if got := f.at(front, "ops/admin", http.MethodGet, "/v1/clustertemplates", nil).want(http.StatusOK).names("clustertemplates"); len(got) != 2 || got[0] != "new" || got[1] != "u" {
		t.Errorf("an administrator sees %v", got)
	}
	f.at(front, "shop/member", http.MethodGet, "/v1/clusters/none", nil).want(http.StatusNotFound, "none could not be found")
	f.at(front, "", http.MethodGet, "/", nil).want(http.StatusOK, front.URL)
	if members[0].URL != nil {
		t.Error("it changed what it was given")
	}
}

// TestHowAnAnswerOfThisProcessIs: https where the client used it, 200 where nothing is said, and an
// error where there is no answer.
func TestHowAnAnswerOfThisProcessIs(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, test := range map[string]struct {
		ctx     context.Context
		proto   string
		handler http.HandlerFunc
		status  int
		err     string
	}{
		"nothing":        {t.Context(), "http", func(http.ResponseWriter, *http.Request) {}, 200, ""},
		"a status":       {t.Context(), "http", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204); w.WriteHeader(500) }, 204, ""},
		"plain":          {t.Context(), "http", secure, 418, ""},
		"https":          {t.Context(), "https", secure, 201, ""},
		"a panic":        {t.Context(), "http", func(http.ResponseWriter, *http.Request) { panic("oh") }, 0, "panic: oh"},
		"a client gone":  {ended, "http", func(http.ResponseWriter, *http.Request) {}, 0, "canceled"},
		"gone, too late": {ended, "http", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, 202, ""},
	} {
		r := httptest.NewRequestWithContext(test.ctx, http.MethodPost, "http://localhost/v1/clusters?a=b", strings.NewReader("{}"))
		r.Header.Set("X-Forwarded-Proto", test.proto)
		response, err := inProcess{test.handler}.RoundTrip(r)
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: error %v", name, err)
		case test.err == "" && (err != nil || response.StatusCode != test.status):
			t.Errorf("%s: %+v, %v", name, response, err)
		}
	}
}

// secure answers 201 to what came by TLS for the right address.
func secure(w http.ResponseWriter, r *http.Request) {
	status := http.StatusTeapot
	if r.TLS != nil && r.RequestURI == "/v1/clusters?a=b" {
		status = http.StatusCreated
	}
	w.WriteHeader(status)
}
