package tenant

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// keptPrefix is before the names of fields that the page of signing in carries for another
// form. They are in that page and not in the server: nobody else can get them, and a console
// that was started again does not lose them.
const keptPrefix = "kept."

// signIn is what somebody types to sign in.
type signIn struct {
	// How is "password", "credential" or "provider".
	How                          string
	User, Domain                 string
	Project                      string
	CredentialID                 string
	secret                       string
	Back                         string
	Kept                         []pair
	Error                        words.Text
	UserError, ProjectError      words.Text
	CredentialError, SecretError words.Text
	// Projects are those that the user may choose, by how they are shown, with what is typed for
	// them.
	Projects []pair
	// Ways are the buttons of identity providers.
	Ways []string
	// Ended says that a session was there before.
	Ended bool
}

// pair is a field with its value.
type pair struct{ Name, Value string }

// outside asks for signing in at the address that was wanted.
func (s *Server) outside(w http.ResponseWriter, r *http.Request) {
	if accepts := r.Header.Get("Accept"); strings.Contains(accepts, "text/event-stream") || accepts == jsonType {
		http.Error(w, s.site.Say(r, words.T("the session has ended")), http.StatusUnauthorized)
		return
	}
	in := signIn{Back: r.URL.RequestURI(), Ended: s.sessions.Sent(r)}
	if r.Method == http.MethodPost {
		if !s.parse(w, r) {
			return
		}
		in.Kept = kept(r.PostForm)
	}
	s.enterPage(w, r, in, http.StatusUnauthorized)
}

// kept are the fields of a form that is not sent yet.
func kept(form url.Values) []pair {
	var list []pair
	for name, values := range form {
		if name != "csrf" {
			for _, value := range values {
				list = append(list, pair{keptPrefix + name, value})
			}
		}
	}
	slices.SortFunc(list, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (s *Server) enterPage(w http.ResponseWriter, r *http.Request, in signIn, status int) {
	if in.How == "" {
		in.How, in.Domain = "password", s.o.Domain
	}
	if in.Back == "" {
		in.Back = frame.Local(r.URL.Query().Get("back")).String()
	}
	for _, way := range s.o.Ways {
		in.Ways = append(in.Ways, way.Name)
	}
	again := "/enter?" + url.Values{"back": {in.Back}}.Encode()
	if len(in.Kept) > 0 { // another page would not have it
		again = ""
	}
	s.site.Bare(w, r, "enter", frame.View{Title: words.T("Sign in"), Data: in, Status: status}, s.sessions.Entrance(w, r), again)
}

// read is what a form of signing in has.
func read(form url.Values) signIn {
	in := signIn{How: form.Get("how"), User: strings.TrimSpace(form.Get("user")), Domain: strings.TrimSpace(form.Get("domain")), Project: strings.TrimSpace(form.Get("project")),
		CredentialID: strings.TrimSpace(form.Get("credential")), secret: form.Get("password"), Back: form.Get("back")}
	switch in.How {
	case "credential":
		in.secret = form.Get("secret")
	case "provider":
	default:
		in.How = "password"
	}
	for name, values := range form {
		if strings.HasPrefix(name, keptPrefix) {
			for _, value := range values {
				in.Kept = append(in.Kept, pair{name, value})
			}
		}
	}
	slices.SortFunc(in.Kept, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return in
}

// check says what is missing, at its field.
func (in *signIn) check() bool {
	if in.How == "credential" {
		in.CredentialError, in.SecretError = need(in.CredentialID, words.T("Type the ID of the application credential.")), need(in.secret, words.T("Type its secret."))
		return in.CredentialError == nil && in.SecretError == nil
	}
	if in.How == "provider" {
		return true
	}
	in.UserError, in.SecretError = need(in.User, words.T("Type your user name.")), need(in.secret, words.T("Type your password."))
	return in.UserError == nil && in.SecretError == nil
}

func need(value string, otherwise words.Text) words.Text {
	if value != "" {
		return nil
	}
	return otherwise
}

// ownForm reads a form of our own page of signing in. It answers itself if it is none.
func (s *Server) ownForm(w http.ResponseWriter, r *http.Request) (in signIn, ok bool) {
	if !s.parse(w, r) {
		return in, false
	}
	in = read(r.PostForm)
	if !s.sessions.OwnEntrance(r) {
		in.Error = words.T("Your browser did not send this page's cookie. Allow cookies for this site, and try again.")
		s.enterPage(w, r, in, http.StatusForbidden)
		return in, false
	}
	return in, true
}

// parse reads a form. It answers itself if it cannot.
func (s *Server) parse(w http.ResponseWriter, r *http.Request) bool {
	if err := r.ParseForm(); err != nil {
		s.site.Refuse(w, r, http.StatusBadRequest, words.T("The form could not be read, or it is larger than 64 kB."))
		return false
	}
	return true
}

// enter signs somebody in, and goes to the page that was wanted.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	in, ok := s.ownForm(w, r)
	if !ok {
		return
	}
	if !in.check() {
		s.enterPage(w, r, in, http.StatusUnprocessableEntity)
		return
	}
	if in.How == "provider" && !s.sessions.Arrived(r, choiceParcel(), &in.secret) {
		in.How, in.Error = "password", words.T("Your sign-in at the identity provider is older than 10 minutes. Sign in again.")
		s.enterPage(w, r, in, http.StatusUnauthorized)
		return
	}
	v, ends, status := s.login(r.Context(), &in)
	if v == nil {
		s.notIn(w, r, in, status)
		return
	}
	s.welcome(w, r, in, v, ends)
}

// notIn shows the page of signing in again, with what is wrong.
func (s *Server) notIn(w http.ResponseWriter, r *http.Request, in signIn, status int) {
	s.o.Log.InfoContext(r.Context(), "refused", "how", in.How, "user", in.User, "credential", in.CredentialID, "status", status)
	s.enterPage(w, r, in, status)
}

// welcome begins a session, and leads to the page that was wanted: by a page and not by a
// redirect where a form of another site has come, as browsers would leave out the cookie.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, in signIn, v *visitor, ends time.Time) {
	back := frame.Local(in.Back)
	if back.Path == "/enter" || back.Path == "/leave" || back.Path == "/again" {
		back = &url.URL{Path: "/"}
	}
	back.Path = strings.TrimSuffix(back.Path, "/kubeconfig") // it is no page
	s.sessions.End(w, r)                                     // one that is there is another user's
	if in.How == "provider" {
		s.sessions.Drop(w, choiceParcel())
	}
	cookie := s.sessions.Begin(w, ends, v, v.provider.Token())
	s.o.Log.InfoContext(r.Context(), "signed in", "how", in.How, "user_id", v.userID, "project_id", v.projectID)
	switch {
	case len(in.Kept) > 0 && s.resume(w, r, back, cookie, in.Kept):
	case r.URL.Path == arrivalPath:
		s.site.Bare(w, r, "onward", frame.View{Title: words.T("Signed in"), Onward: back.String()}, "", "")
	default:
		http.Redirect(w, r, back.String(), http.StatusSeeOther)
	}
}

// typed is the key of what was typed in a form before its session ended.
type typed struct{}

// resume answers with the form that was filled in when the session ended, and reports whether
// there is one at the address. No replica has to remember what was typed.
func (s *Server) resume(w http.ResponseWriter, r *http.Request, at *url.URL, cookie *http.Cookie, fields []pair) bool {
	form := url.Values{}
	for _, f := range fields {
		form.Add(strings.TrimPrefix(f.Name, keptPrefix), f.Value)
	}
	again := r.Clone(context.WithValue(r.Context(), typed{}, form))
	again.Method, again.URL, again.Body, again.Form, again.PostForm = http.MethodGet, at, http.NoBody, nil, nil
	again.Header = http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}
	words.Carry(again, r)
	_, pattern := s.mux.Handler(again)
	if _, ok := changes()[strings.TrimPrefix(pattern, "GET ")]; !ok {
		return false
	}
	s.mux.ServeHTTP(w, again)
	return true
}

// leave ends the session, and the token with it.
func (s *Server) leave(w http.ResponseWriter, r *http.Request) {
	said := words.T("You have signed out, and your token does not work any more.")
	if session := s.sessions.Of(r); session != nil {
		if !session.Own(r) {
			s.site.Refuse(w, r, http.StatusForbidden, words.T("The form is not of this session. Go back, load the page again, and repeat what you did."))
			return
		}
		if !session.Value.revoke(r.Context()) {
			said = words.T("You have signed out. Keystone did not revoke your token, so that it works until it ends by itself.")
		}
		s.o.Log.InfoContext(r.Context(), "signed out", "user_id", session.Value.userID)
	}
	s.sessions.End(w, r)
	s.site.Refuse(w, r, http.StatusOK, said)
}
