package tenant_test

import (
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/console/tenant"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// federated is a world whose console offers two identity providers, with a browser.
func federated(t *testing.T) (*tenanttest.World, *tenanttest.Federation, *browser) {
	t.Helper()
	w := tenanttest.Start(t)
	f := w.Federate()
	entrance, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	server := w.Serve(true, func(o *tenant.Options) {
		o.Entrance, o.Ways = entrance, []tenant.Way{{Name: "Company login", Protocol: "openid"}, {Name: "Partner", Provider: "acme", Protocol: "saml2"}}
	})
	f.Trusted = []string{server.URL + tenant.ArrivalPath}
	return w, f, secure(t, server)
}

func secure(t *testing.T, server *httptest.Server) *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{&http.Client{Jar: jar, Transport: server.Client().Transport}, t, server.URL}
}

var (
	onward = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]*)">`)
	posted = regexp.MustCompile(`action="([^"]*)"[^>]*>.*name="token" id="token" value="([^"]*)"`)
)

// follow is where a page leads at once.
func (p page) follow() string {
	p.t.Helper()
	match := onward.FindStringSubmatch(p.text)
	if match == nil {
		p.t.Fatalf("%s leads nowhere:\n%s", p.at, p.text)
	}
	return html.UnescapeString(match[1])
}

// arrive posts a token as a page of a site does.
func (b *browser) arrive(origin, token string) page {
	b.t.Helper()
	r, _ := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+tenant.ArrivalPath, strings.NewReader(url.Values{"token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	return b.read(b.Do(r))
}

// authenticate goes to Keystone, and returns the token that its page has.
func (b *browser) authenticate(address string) string {
	b.t.Helper()
	p := b.read(b.Get(address)).want(200)
	match := posted.FindStringSubmatch(strings.ReplaceAll(p.text, "\n", ""))
	if match == nil || match[1] != b.base+tenant.ArrivalPath {
		b.t.Fatalf("Keystone answers:\n%s", p.text)
	}
	return html.UnescapeString(match[2])
}

// TestIdentityProviders sign in, with a project to choose and a form that is to be kept.
func TestIdentityProviders(t *testing.T) {
	t.Parallel()
	w, f, b := federated(t)
	w.Template("k8s", "ubuntu-1.34")
	f.User = tenanttest.Reader // who has one project
	in := b.get("/enter").want(200, "Company login", "Partner")
	away := b.send(in, "/enter/depart", "way", "1").want(200).follow()
	if !strings.HasPrefix(away, f.URL+"/v3/auth/OS-FEDERATION/identity_providers/acme/protocols/saml2/websso?origin=") {
		t.Errorf("the browser goes to %s", away)
	}
	arrived := b.arrive(f.URL, b.authenticate(away)).want(200, "Signed in")
	if at := arrived.follow(); at != "/" || strings.Contains(arrived.text, "token") {
		t.Errorf("then to %s:\n%s", at, arrived.text)
	}
	b.get("/clusters").want(200, "shop", tenanttest.Reader)
	// Who has several projects chooses one, and gets the form that was filled in.
	b = &browser{b.Client, t, b.base}
	b.Jar, _ = cookiejar.New(nil)
	f.User = tenanttest.Member
	outside := b.read(b.PostForm(b.base+"/clusters/new", url.Values{"name": {"my-cluster"}, "labels": {"a=b\nc=d"}})).want(401, "Sign in")
	away = b.send(outside, "/enter/depart", "way", "0").want(200).follow()
	choose := b.arrive(f.URL, b.authenticate(away)).want(403, "Choose a project", "You have several projects", "bank")
	if strings.Contains(choose.text, f.Token()[:8]) {
		t.Error("the page shows a token")
	}
	b.send(choose, "/enter", "project", "nowhere").want(403, "You have no role in this project")
	restored := b.send(choose, "/enter", "project", "shop").want(200, "You had to sign in again")
	if form := restored.form("/clusters/new"); form.Get("name") != "my-cluster" || form.Get("labels") != "a=b\nc=d" {
		t.Errorf("lost: %v", form)
	}
}

// TestStrangersBringTokens: nobody is signed in as somebody else by a form of another site.
func TestStrangersBringTokens(t *testing.T) {
	t.Parallel()
	w, f, b := federated(t)
	token := f.Token()
	depart := func() { b.send(b.get("/enter"), "/enter/depart", "way", "0").want(200) }
	b.arrive(f.URL, token).want(403, "did not begin in this browser")
	depart()
	for name, origin := range map[string]string{"another site": "https://evil.example", "no origin": "", "a hidden one": "null", "ours": b.base} {
		if p := b.arrive(origin, token); p.status != 403 || !strings.Contains(p.text, "did not come from") {
			t.Errorf("%s: %d\n%s", name, p.status, p.text)
		}
	}
	b.get("/clusters").want(401)
	w.Later.Store(int64(11 * time.Minute))
	b.arrive(f.URL, token).want(403, "longer than 10 minutes")
	w.Later.Store(0)
	depart()
	b.arrive(f.URL, "made-up").want(401, "does not take its own token")
	depart()
	b.arrive(f.URL, "").want(401, "Keystone sent no token")
	b.arrive(f.URL, token).want(403, "did not begin") // the parcel is used up
	f.User = tenanttest.Nobody
	depart()
	b.arrive(f.URL, f.Token()).want(403, "You have no role in any project")
	// The page of departure is for our own form alone, and for known ways.
	b.read(b.PostForm(b.base+"/enter/depart", url.Values{"way": {"0"}})).want(403, "Allow cookies")
	b.send(b.get("/enter"), "/enter/depart", "way", "2").want(404)
	f.Trusted = nil
	away := b.send(b.get("/enter"), "/enter/depart", "way", "0").want(200).follow()
	b.read(b.Get(away)).want(401, "not a trusted dashboard")
	// What is too long to take along stays in the page.
	long := strings.Repeat("x", 6000)
	outside := b.read(b.PostForm(b.base+"/clusters/new", url.Values{"labels": {long}})).want(401)
	kept := b.send(outside, "/enter/depart", "way", "0").want(413, "too long to be kept")
	if kept.form("/enter").Get("kept.labels") != long {
		t.Error("it is lost")
	}
	// A console without providers has no such pages.
	plain := open(t, w)
	plain.read(plain.PostForm(plain.base+tenant.ArrivalPath, url.Values{"token": {token}})).want(404)
}

func TestWaysAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]tenant.Way{"Company login=openid": {Name: "Company login", Protocol: "openid"}, "a=b=acme/saml2": {Name: "a=b", Provider: "acme", Protocol: "saml2"}} {
		if got, err := tenant.ParseWay(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "openid", "=openid", " =openid", "a=", "a=../x", "a=x/../y", "a=x/y/z", "a=x?y"} {
		if got, err := tenant.ParseWay(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
