package tenant_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/slipway-sh/slipway/test/tenanttest"
)

func TestSigningIn(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	b := open(t, w)
	for name, test := range map[string]struct {
		fields []string
		status int
		says   string
	}{
		"nothing":                  {nil, 422, "Type your user name."},
		"a wrong password":         {[]string{"user", tenanttest.Member, "password", "guess", "project", "shop"}, 401, "User name, domain or password is wrong"},
		"a user that is not there": {[]string{"user", "ghost", "password", "guess"}, 401, "User name, domain or password is wrong"},
		"a project without a role": {[]string{"user", tenanttest.Reader, "password", tenanttest.Password, "project", "bank"}, 403, "You have no role in this project"},
		"no role at all":           {[]string{"user", tenanttest.Nobody, "password", tenanttest.Password, "project", "shop"}, 403, "You have no role in any project"},
		"several projects":         {[]string{"user", tenanttest.Member, "password", tenanttest.Password}, 403, "You have several projects"},
		"another domain":           {[]string{"user", tenanttest.Member, "password", tenanttest.Password, "domain", "elsewhere"}, 401, "domain or password is wrong"},
		"a wrong credential":       {[]string{"how", "credential", "credential", "0123", "secret", "guess"}, 401, "does not know this application credential"},
		"half a credential":        {[]string{"how", "credential", "credential", "0123"}, 422, "Type its secret."},
	} {
		p := b.send(b.get("/enter"), "/enter", test.fields...).want(test.status, test.says)
		if strings.Contains(p.text, "guess") || strings.Contains(p.text, `value="`+tenanttest.Password) {
			t.Errorf("%s: the page shows the password", name)
		}
		for i := 0; i+1 < len(test.fields); i += 2 {
			if field := test.fields[i]; field != "password" && field != "secret" && field != "how" && !strings.Contains(p.text, `value="`+test.fields[i+1]+`"`) {
				t.Errorf("%s: what was typed as %s is lost", name, field)
			}
		}
		b.get("/clusters").want(401, "Sign in")
	}
	// The only project need not be named.
	reader := open(t, w)
	reader.send(reader.get("/enter"), "/enter", "user", tenanttest.Reader, "password", tenanttest.Password).want(200, "There are no clusters", "shop", tenanttest.Reader)
	login := w.As(tenanttest.Member, "bank")
	token, err := tokens.Get(t.Context(), login.Identity(t), login.Provider.Token()).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	made, err := applicationcredentials.Create(t.Context(), login.Identity(t), token.ID, applicationcredentials.CreateOpts{Name: "console"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	b.send(b.get("/enter"), "/enter", "how", "credential", "credential", made.ID, "secret", made.Secret).want(200, "bank")
}

// TestSigningOut ends the session and the token.
func TestSigningOut(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	b := open(t, w).enter(tenanttest.Member, "shop")
	b.send(b.get("/clusters"), "/leave", "csrf", "guess").want(403)
	b.get("/clusters").want(200)
	b.send(b.get("/clusters"), "/leave").want(200, "You have signed out")
	b.get("/clusters").want(401, "Sign in")
}

// TestNothingTypedIsLost when the session ends in the middle of a form: by time, or because
// the cloud does not take the token any more.
func TestNothingTypedIsLost(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	w.Template("k8s", "ubuntu-1.34")
	typed := []string{"name", "my-cluster", "master_count", "3", "node_count", "17", "labels", "a=b\n<script>=\"x\""}
	b := open(t, w).enter(tenanttest.Member, "shop")
	form := b.get("/clusters/new").want(200)
	w.Later.Store(int64(2 * time.Hour))
	b.kept(w, form, typed)
	// The token is revoked: the console learns it from the API.
	b = open(t, w).enter(tenanttest.Member, "shop")
	form = b.get("/clusters/new").want(200)
	w.Revoke(tenanttest.Member)
	b.kept(w, form, append(typed, "cluster_template_id", form.template()))
}

func (p page) template() string {
	p.t.Helper()
	for _, one := range selects.FindAllStringSubmatch(p.text, -1) {
		if one[1] == "cluster_template_id" {
			values := valueOf.FindAllStringSubmatch(one[2], -1)
			return values[len(values)-1][1]
		}
	}
	p.t.Fatal("no template is offered")
	return ""
}

// kept sends a form after the session has ended, signs in again, and wants to see all of it.
func (b *browser) kept(w *tenanttest.World, form page, typed []string) {
	b.t.Helper()
	ended := b.send(form, "/clusters/new", typed...).want(401, "Your session has ended", "What you typed is kept")
	w.Later.Store(0) // the next token is young
	if found := b.send(ended, "/enter", "user", tenanttest.Member, "password", "guess", "project", "shop").want(401, "password is wrong").form("/enter"); found.Get("kept.name") != "my-cluster" {
		b.t.Errorf("a wrong password loses it: %v", found)
	}
	again := b.send(ended, "/enter", "user", tenanttest.Member, "password", tenanttest.Password, "project", "shop").want(200, "You had to sign in again")
	values := again.form("/clusters/new")
	for i := 0; i < len(typed); i += 2 {
		if got := values.Get(typed[i]); got != typed[i+1] {
			b.t.Errorf("%s: %s is %q, not %q", again.at, typed[i], got, typed[i+1])
		}
	}
	if list := b.get("/clusters"); strings.Contains(list.text, "my-cluster") {
		b.t.Error("it was sent")
	}
	if fresh := b.get("/clusters/new"); strings.Contains(fresh.text, "my-cluster") {
		b.t.Error("it is shown a second time")
	}
}

// TestStrangers get no page, and other sites send no form.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	b := open(t, w)
	for _, path := range []string{"/clusters", "/clusters/new", "/clusters/x", "/clusters/x/delete", "/clusters/x/groups/y/resize"} {
		p := b.get(path).want(401, "Sign in")
		if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || inlined.MatchString(p.text) {
			t.Errorf("%s: %q", path, csp)
		}
	}
	b.get("/nowhere").want(404)
	b.get("/healthcheck").want(200, "OK")
	p := b.enter(tenanttest.Member, "shop").get("/clusters/new").want(200)
	b.send(p, "/clusters/new", "csrf", "", "name", "x").want(403, "not of this session")
	other := open(t, w).enter(tenanttest.Member, "shop").get("/clusters/new").form("/clusters/new")
	b.send(p, "/clusters/new", "csrf", other.Get("csrf"), "name", "x").want(403, "not of this session")
	for name, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+"/clusters/new", strings.NewReader(p.form("/clusters/new").Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(name, value)
		b.read(b.Do(r)).want(403)
	}
	// Another site signs nobody in as somebody else.
	fresh := open(t, w)
	fresh.read(fresh.PostForm(fresh.base+"/enter", url.Values{"how": {"password"}, "user": {tenanttest.Member}, "password": {tenanttest.Password}, "project": {"shop"}})).want(403, "Allow cookies")
	for _, to := range []string{"//evil.example/", "https://evil.example/", `/\evil.example`} {
		in := open(t, w)
		if p := in.send(in.get("/enter"), "/enter", "back", to, "user", tenanttest.Member, "password", tenanttest.Password, "project", "shop").want(200); p.at != "/clusters" {
			t.Errorf("%s leads to %s", to, p.at)
		}
	}
}
