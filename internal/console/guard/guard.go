// Package guard keeps strangers away from a page that a program serves on the machine of its
// user: other web sites in the same browser, and other users of the machine.
//
// A site can make the browser send requests to a loopback address, and by DNS rebinding even
// read the answers under its own name. So the Host header must be ours, a request must not
// come from another site, and a session begins with a token that only the terminal printed.
package guard

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/console/words"
)

const (
	// enterPath takes the token of the first URL.
	enterPath = "/enter"
	// tokenKey is the parameter of the token, csrfKey the field of forms.
	tokenKey, csrfKey = "token", "csrf"
	// idle is how long a session lasts without a request.
	idle = 12 * time.Hour
	// largestForm bounds the body of a request.
	largestForm = 64 << 10
)

// policy allows what the program serves itself, and no script or style inside a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard is a handler around the one that serves the pages.
type Guard struct {
	pages, public http.Handler
	refuse        Refuse
	hosts         []string
	cookie        string
	now           func() time.Time

	mu      sync.Mutex
	token   string // of the next session; empty once it was used
	session session
}

// session is the one there is.
type session struct {
	id, csrf string
	last     time.Time
}

// Refuse answers a request that is not let in: status is 401, 403 or 421, why a sentence.
type Refuse func(w http.ResponseWriter, r *http.Request, status int, why words.Text)

// Options are the parts of a Guard.
type Options struct {
	// Address is where the server listens.
	Address net.Addr
	// Pages serves those who are signed in; Public are files without a secret below /assets/.
	Pages, Public http.Handler
	Refuse        Refuse
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// New returns a Guard that nobody has entered yet.
func New(o Options) *Guard {
	_, port, _ := net.SplitHostPort(o.Address.String())
	g := &Guard{pages: o.Pages, public: o.Public, refuse: o.Refuse, now: o.Now, token: rand.Text(),
		// Browsers share cookies between the ports of a host, so the name has the port.
		cookie: "slipway-console-" + port}
	if g.now == nil {
		g.now = time.Now
	}
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		g.hosts = append(g.hosts, hostOf("http", net.JoinHostPort(host, port)))
	}
	if own := hostOf("http", o.Address.String()); !slices.Contains(g.hosts, own) {
		g.hosts = append(g.hosts, own)
	}
	return g
}

// Link is the path that begins a session, once; empty after it was used.
func (g *Guard) Link() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" {
		return ""
	}
	return enterPath + "?" + tokenKey + "=" + g.token
}

// End ends the session; Link is another one from then on.
func (g *Guard) End(w http.ResponseWriter) {
	g.mu.Lock()
	g.session, g.token = session{}, rand.Text()
	g.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// CSRF is the token that forms of the session send in the field "csrf".
func (g *Guard) CSRF() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.session.csrf
}

// ServeHTTP lets a request through, or answers it.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	switch {
	case !slices.Contains(g.hosts, hostOf("http", r.Host)):
		g.refuse(w, r, http.StatusMisdirectedRequest, words.T("This address is not the console's. Use the one that slipway console serve printed."))
	case foreign(r, "http://"+r.Host):
		g.refuse(w, r, http.StatusForbidden, words.T("The request came from another site."))
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		g.refuse(w, r, http.StatusMethodNotAllowed, words.T("The console does not know this method."))
	case strings.HasPrefix(r.URL.Path, "/assets/"):
		g.public.ServeHTTP(w, r)
	case r.URL.Path == enterPath:
		g.enter(w, r)
	case !g.known(r):
		g.refuse(w, r, http.StatusUnauthorized, words.T("There is no session in this browser, or it has ended."))
	case r.Method == http.MethodPost && !g.own(w, r):
		g.refuse(w, r, http.StatusForbidden, words.T("The form is not of this session. Go back, load the page again, and repeat what you did."))
	default:
		g.pages.ServeHTTP(w, r)
	}
}

// enter exchanges the token for a session.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && g.known(r) {
		http.Redirect(w, r, "/", http.StatusSeeOther) // the link again, in the browser that used it
		return
	}
	// What only looks ahead must not use the token up.
	if r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" || !g.begin(r.URL.Query().Get(tokenKey)) {
		g.refuse(w, r, http.StatusUnauthorized, words.T("This link was used, or it is of another run. Each link opens one session."))
		return
	}
	g.mu.Lock()
	id := g.session.id
	g.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// begin makes a session if the token is the one there is, which is used up then.
func (g *Guard) begin(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || !same(token, g.token) {
		return false
	}
	g.token = ""
	g.session = session{id: rand.Text(), csrf: rand.Text(), last: g.now()}
	return true
}

// known reports whether a request is of the session, which goes on then.
func (g *Guard) known(r *http.Request) bool {
	if !g.Open(r) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.session.last = g.now()
	return true
}

// Open reports whether the session of a request that was let in still lasts. Asking does not
// make it last longer.
func (g *Guard) Open(r *http.Request) bool {
	cookie, err := r.Cookie(g.cookie)
	g.mu.Lock()
	defer g.mu.Unlock()
	return err == nil && g.session.id != "" && same(cookie.Value, g.session.id) && g.now().Sub(g.session.last) <= idle
}

// own reports whether a form was made by a page of the session.
func (g *Guard) own(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, largestForm)
	return same(r.PostFormValue(csrfKey), g.CSRF())
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 && b != "" }

// hostOf is a host as browsers name it: in lower case, and without the port that its scheme has
// anyway. Settings and proxies write that port too.
func hostOf(scheme, host string) string {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.ToLower(strings.TrimSuffix(host, port))
}

// Origin is the origin of an address as browsers send it.
func Origin(u *url.URL) string { return u.Scheme + "://" + hostOf(u.Scheme, u.Host) }

// foreign reports whether the browser says that another site sent the request. A link from
// elsewhere is none: it carries no cookie. own is the origin of our pages.
func foreign(r *http.Request, own string) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != own {
		return true
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// harden sets what every answer has.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send our own forms with "Origin: null"
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}
