package guard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/console/words"
)

func public(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// visit asks with the cookies of former answers.
func visit(method, address string, cookies []*http.Cookie, headers ...string) *http.Request {
	r := httptest.NewRequest(method, address, nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func TestSessionsEndByTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	s := NewSessions(SessionOptions[string]{Cookie: "c", Now: func() time.Time { return now }})
	w := httptest.NewRecorder()
	s.Begin(w, now.Add(20*time.Hour), "ada", "secret")
	cookies := w.Result().Cookies()
	if c := cookies[0]; !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || len(c.Value) < 20 {
		t.Errorf("the cookie is %+v", c)
	}
	r := visit("GET", "http://x/", cookies)
	if one := s.Admit(httptest.NewRecorder(), r); one == nil || one.Value != "ada" {
		t.Fatalf("at once: %+v", one)
	}
	now = now.Add(idle - time.Second)
	if s.Admit(httptest.NewRecorder(), r) == nil {
		t.Error("before it is idle for too long")
	}
	now = now.Add(idle - time.Second) // the token's end is nearer than the idle time's
	if s.Of(r) != nil || s.Len() != 0 {
		t.Error("after the end of the token")
	}
	w = httptest.NewRecorder()
	s.Begin(w, now.Add(100*time.Hour), "ada", "secret")
	r = visit("GET", "http://x/", w.Result().Cookies())
	now = now.Add(idle + time.Second)
	if s.Of(r) != nil {
		t.Error("idle for too long")
	}
	w = httptest.NewRecorder()
	s.Begin(w, now.Add(time.Hour), "bob", "secret")
	r = visit("GET", "http://x/", w.Result().Cookies())
	w = httptest.NewRecorder()
	if s.End(w, r); s.Of(r) != nil || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Error("after signing out")
	}
}

// TestThePortOfTheSchemeIsNoOtherHost: browsers leave it out, settings and proxies need not.
func TestThePortOfTheSchemeIsNoOtherHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		public, entrance, host, path, origin string
		want                                 int
	}{
		{"https://clusters.example:443", "https://keystone.example", "clusters.example", "/", "https://clusters.example", 200},
		{"https://Clusters.example:443", "https://keystone.example", "clusters.example", "/", "https://clusters.example", 200},
		{"https://clusters.example", "https://keystone.example", "clusters.example:443", "/", "https://clusters.example", 200},
		{"https://clusters.example", "https://Keystone.example:443/v3", "clusters.example", "/in", "https://keystone.example", 200},
		{"https://clusters.example", "https://keystone.example:5000", "clusters.example", "/in", "https://keystone.example:5000", 200},
		{"https://clusters.example", "https://keystone.example:5000", "clusters.example", "/in", "https://keystone.example", 403},
		{"https://clusters.example:8443", "https://keystone.example", "clusters.example", "/", "https://clusters.example:8443", 421},
		{"https://clusters.example", "https://keystone.example", "clusters.example:80", "/", "https://clusters.example", 421},
		{"http://clusters.example:80", "https://keystone.example", "clusters.example", "/", "http://clusters.example", 200},
	} {
		s := NewSessions(SessionOptions[string]{Cookie: "c", Public: public(t, test.public), Callback: "/in", CallbackOrigin: Origin(public(t, test.entrance)),
			Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why words.Text) {
				http.Error(w, why.String(), status)
			}})
		handler, w := s.Keep(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), httptest.NewRecorder()
		if handler.ServeHTTP(w, visit("POST", "http://"+test.host+test.path, nil, "Origin", test.origin)); w.Code != test.want {
			t.Errorf("%+v: %d", test, w.Code)
		}
	}
}

// TestTheRightAddressIsNamed with the scheme that it has.
func TestTheRightAddressIsNamed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://clusters.example:8470", "https://clusters.example"} {
		s := NewSessions(SessionOptions[string]{Cookie: "c", Public: public(t, address), Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why words.Text) {
			http.Error(w, why.String(), status)
		}})
		w := httptest.NewRecorder()
		s.Keep(http.NotFoundHandler()).ServeHTTP(w, visit("GET", "http://10.0.0.7/", nil))
		if w.Code != http.StatusMisdirectedRequest || !strings.Contains(w.Body.String(), "Use "+address+"/ ") {
			t.Errorf("%s: %d, %s", address, w.Code, w.Body)
		}
	}
}

// TestSessionsBehindTLS have a cookie for HTTPS alone, and one origin.
func TestSessionsBehindTLS(t *testing.T) {
	t.Parallel()
	s := NewSessions(SessionOptions[string]{Cookie: "c", Public: public(t, "https://clusters.example"), Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why words.Text) {
		http.Error(w, why.String(), status)
	}})
	w := httptest.NewRecorder()
	s.Begin(w, time.Now().Add(time.Hour), "ada", "secret")
	if c := w.Result().Cookies()[0]; !c.Secure || c.Name != "__Host-c" {
		t.Errorf("the cookie is %+v", c)
	}
	handler := s.Keep(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, test := range map[string]struct {
		method, address string
		headers         []string
		want            int
	}{
		"plain":             {"GET", "http://clusters.example/", nil, 200},
		"its form":          {"POST", "http://clusters.example/", []string{"Origin", "https://clusters.example", "Sec-Fetch-Site", "same-origin"}, 200},
		"another name":      {"GET", "http://evil.example/", nil, 421},
		"without TLS":       {"POST", "http://clusters.example/", []string{"Origin", "http://clusters.example"}, 403},
		"a form elsewhere":  {"POST", "http://clusters.example/", []string{"Origin", "https://evil.example"}, 403},
		"a frame elsewhere": {"GET", "http://clusters.example/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"a link elsewhere":  {"GET", "http://clusters.example/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"another method":    {"PUT", "http://clusters.example/", nil, 405},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, visit(test.method, test.address, nil, test.headers...))
		if w.Code != test.want || w.Header().Get("Strict-Transport-Security") == "" || w.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %d, %v", name, w.Code, w.Header())
		}
	}
}
