package guard

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/console/words"
)

const host = "127.0.0.1:4711"

// door is a Guard at a fixed address whose pages say who got in.
func door(t *testing.T) (*Guard, *time.Time) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	}
	return New(Options{Address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}, Pages: say("page"), Public: say("asset"),
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why words.Text) {
			http.Error(w, why.String(), status)
		},
		Now: func() time.Time { return now }}), &now
}

// ask sends a request; headers are pairs of name and value, "Host" among them.
func ask(g *Guard, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+host+path, nil)
	return send(g, r, headers...)
}

func send(g *Guard, r *http.Request, headers ...string) *httptest.ResponseRecorder {
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// enter uses the link and returns the cookie as a header has it.
func enter(t *testing.T, g *Guard) string {
	t.Helper()
	w := ask(g, "GET", g.Link())
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" || len(cookies) != 1 {
		t.Fatalf("%d to %q with %v", w.Code, w.Header().Get("Location"), cookies)
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || len(c.Value) < 20 {
		t.Errorf("the cookie is %+v", c)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

// TestThePortOfHTTPIsNotInTheHost that browsers send.
func TestThePortOfHTTPIsNotInTheHost(t *testing.T) {
	t.Parallel()
	g := New(Options{Address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why words.Text) {
		http.Error(w, why.String(), status)
	}})
	for asked, want := range map[string]int{"127.0.0.1": 401, "localhost": 401, "127.0.0.1:80": 401, "[::1]": 401, "127.0.0.1:81": 421, "evil.example": 421} {
		if w := ask(g, "GET", "/", "Host", asked); w.Code != want {
			t.Errorf("%s: %d, want %d", asked, w.Code, want)
		}
	}
}

func TestTheTokenWorksOnce(t *testing.T) {
	t.Parallel()
	g, _ := door(t)
	link := g.Link()
	for name, w := range map[string]*httptest.ResponseRecorder{
		"a guess": ask(g, "GET", "/enter?token=guess"), "no token": ask(g, "GET", "/enter"), "a look ahead": ask(g, "GET", link, "Sec-Purpose", "prefetch"),
		"a HEAD": ask(g, "HEAD", link), "a POST": ask(g, "POST", link), "no session": ask(g, "GET", "/"),
	} {
		if w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: %d, %v", name, w.Code, w.Result().Cookies())
		}
	}
	cookie := enter(t, g)
	if w := ask(g, "GET", link); w.Code != http.StatusUnauthorized || g.Link() != "" {
		t.Errorf("the second time: %d", w.Code)
	}
	if w := ask(g, "GET", link, "Cookie", cookie); w.Code != http.StatusSeeOther {
		t.Errorf("the link again in the same browser: %d", w.Code)
	}
	if w := ask(g, "GET", "/enter?token=", "Cookie", "slipway-console-4711="); w.Code != http.StatusUnauthorized {
		t.Errorf("an empty token and an empty cookie: %d", w.Code)
	}
	if w := ask(g, "GET", "/x", "Cookie", cookie); w.Code != http.StatusOK || w.Body.String() != "page" {
		t.Errorf("with the cookie: %d %s", w.Code, w.Body)
	}
	if w := ask(g, "GET", "/x", "Cookie", cookie+"x"); w.Code != http.StatusUnauthorized {
		t.Errorf("with another: %d", w.Code)
	}
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	g, now := door(t)
	cookie := enter(t, g)
	*now = now.Add(idle - time.Second)
	if w := ask(g, "GET", "/", "Cookie", cookie); w.Code != http.StatusOK {
		t.Errorf("before its time: %d", w.Code)
	}
	*now = now.Add(idle + time.Second)
	if w := ask(g, "GET", "/", "Cookie", cookie); w.Code != http.StatusUnauthorized {
		t.Errorf("idle for too long: %d", w.Code)
	}
	w := httptest.NewRecorder()
	if g.End(w); len(w.Result().Cookies()) != 1 || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("the cookie stays: %v", w.Result().Cookies())
	}
	if other := enter(t, g); other == cookie {
		t.Error("the next session is the old one")
	}
	if w := ask(g, "GET", "/", "Cookie", cookie); w.Code != http.StatusUnauthorized {
		t.Errorf("the old one after its end: %d", w.Code)
	}
}

// TestStrangersStayOutside by DNS rebinding, from other sites and ports, and in frames.
func TestStrangersStayOutside(t *testing.T) {
	t.Parallel()
	g, _ := door(t)
	cookie := enter(t, g)
	for name, test := range map[string]struct {
		method  string
		headers []string
		want    int
	}{
		"plain":                       {"GET", nil, 200},
		"localhost":                   {"GET", []string{"Host", "localhost:4711"}, 200},
		"IPv6":                        {"GET", []string{"Host", "[::1]:4711"}, 200},
		"a name that points here":     {"GET", []string{"Host", "evil.example:4711"}, 421},
		"another port":                {"GET", []string{"Host", "127.0.0.1:80"}, 421},
		"no port":                     {"GET", []string{"Host", "127.0.0.1"}, 421},
		"a suffix":                    {"GET", []string{"Host", "127.0.0.1:4711.evil.example"}, 421},
		"no host":                     {"GET", []string{"Host", ""}, 421},
		"typed into the browser":      {"GET", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, 200},
		"a stream of the page":        {"GET", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Origin", "http://" + host}, 200},
		"a link elsewhere":            {"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"a frame elsewhere":           {"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"an image elsewhere":          {"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		"a script of another port":    {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
		"the origin of another port":  {"GET", []string{"Origin", "http://127.0.0.1:80"}, 403},
		"a form elsewhere":            {"POST", []string{"Origin", "https://evil.example"}, 403},
		"a form without an origin":    {"POST", []string{"Origin", "null"}, 403},
		"a form without a CSRF token": {"POST", []string{"Origin", "http://" + host}, 403},
		"another method":              {"PUT", nil, 405},
	} {
		w := ask(g, test.method, "/", append([]string{"Cookie", cookie}, test.headers...)...)
		if w.Code != test.want {
			t.Errorf("%s: %d, want %d", name, w.Code, test.want)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: the policy is %q", name, csp)
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
	}
	if w := ask(g, "GET", "/assets/style.css"); w.Code != http.StatusOK || w.Body.String() != "asset" {
		t.Errorf("an asset without a session: %d %s", w.Code, w.Body)
	}
	if w := ask(g, "GET", "/assets/style.css", "Host", "evil.example:4711"); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("an asset under another name: %d", w.Code)
	}
}

func TestFormsHaveATokenOfTheSession(t *testing.T) {
	t.Parallel()
	g, _ := door(t)
	cookie := enter(t, g)
	post := func(csrf string) int {
		r := httptest.NewRequest("POST", "http://"+host+"/", strings.NewReader(url.Values{"csrf": {csrf}}.Encode()))
		return send(g, r, "Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded").Code
	}
	for csrf, want := range map[string]int{g.CSRF(): 200, "": 403, "x": 403, strings.Repeat("x", largestForm+1): 403} {
		if got := post(csrf); got != want {
			t.Errorf("%.20q: %d, want %d", csrf, got, want)
		}
	}
	former := g.CSRF()
	g.End(httptest.NewRecorder())
	cookie = enter(t, g)
	if got := post(former); got != http.StatusForbidden {
		t.Errorf("the token of an earlier session: %d", got)
	}
	r := httptest.NewRequest("POST", "http://"+host+"/?csrf="+g.CSRF(), nil)
	if w := send(g, r, "Cookie", cookie); w.Code != http.StatusForbidden {
		t.Errorf("in the URL: %d", w.Code)
	}
}
