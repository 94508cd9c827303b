package tenant

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/console/frame"
)

// keptPrefix is before the names of fields that the page of signing in carries for another
// form. They are in that page and not in the server: nobody else can get them, and a console
// that was started again does not lose them.
const keptPrefix = "kept."

// signIn is what somebody types to sign in.
type signIn struct {
	// How is "password" or "credential".
	How                          string
	User, Domain                 string
	Project, ProjectDomain       string
	CredentialID                 string
	secret                       string
	Back                         string
	Kept                         []pair
	Error                        string
	UserError, ProjectError      string
	CredentialError, SecretError string
	// Projects are those that the user may choose.
	Projects []string
	// Ended says that a session was there before.
	Ended bool
}

// pair is a field with its value.
type pair struct{ Name, Value string }

// outside asks for signing in at the address that was wanted.
func (s *Server) outside(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		http.Error(w, "the session has ended", http.StatusUnauthorized)
		return
	}
	in := signIn{Back: r.URL.RequestURI(), Ended: s.sessions.Sent(r)}
	if r.Method == http.MethodPost {
		if err := r.ParseForm(); err != nil {
			s.site.Refuse(w, r, http.StatusBadRequest, "The form could not be read, or it is larger than 64 kB.")
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
	s.site.Bare(w, "enter", frame.View{Title: "Sign in", Data: in, Status: status}, s.sessions.Entrance(w, r))
}

// read is what a form of signing in has.
func read(form url.Values) signIn {
	in := signIn{How: form.Get("how"), User: strings.TrimSpace(form.Get("user")), Domain: strings.TrimSpace(form.Get("domain")), Project: strings.TrimSpace(form.Get("project")),
		ProjectDomain: strings.TrimSpace(form.Get("project_domain")), CredentialID: strings.TrimSpace(form.Get("credential")), secret: form.Get("password"), Back: form.Get("back")}
	if in.How == "credential" {
		in.secret = form.Get("secret")
	} else {
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
		in.CredentialError, in.SecretError = need(in.CredentialID, "Type the ID of the application credential."), need(in.secret, "Type its secret.")
		return in.CredentialError+in.SecretError == ""
	}
	in.UserError, in.SecretError = need(in.User, "Type your user name."), need(in.secret, "Type your password.")
	return in.UserError+in.SecretError == ""
}

func need(value, otherwise string) string {
	if value != "" {
		return ""
	}
	return otherwise
}

// enter signs somebody in, and goes to the page that was wanted.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.site.Refuse(w, r, http.StatusBadRequest, "The form could not be read, or it is larger than 64 kB.")
		return
	}
	in := read(r.PostForm)
	if !s.sessions.OwnEntrance(r) {
		in.Error = "Your browser did not send this page's cookie. Allow cookies for this site, and try again."
		s.enterPage(w, r, in, http.StatusForbidden)
		return
	}
	if !in.check() {
		s.enterPage(w, r, in, http.StatusUnprocessableEntity)
		return
	}
	v, ends, status := s.login(r.Context(), &in)
	if v == nil {
		s.o.Log.InfoContext(r.Context(), "refused", "how", in.How, "user", in.User, "credential", in.CredentialID, "status", status)
		s.enterPage(w, r, in, status)
		return
	}
	back := frame.Local(in.Back)
	if back.Path == "/enter" || back.Path == "/leave" || back.Path == "/again" {
		back = &url.URL{Path: "/"}
	}
	if strings.HasSuffix(back.Path, "/kubeconfig") { // it is no page
		back.Path = strings.TrimSuffix(back.Path, "/kubeconfig")
	} else if len(in.Kept) > 0 {
		v.keep(back.Path, in.Kept)
	}
	s.sessions.End(w, r) // one that is there is another user's
	s.sessions.Begin(w, ends, v)
	s.o.Log.InfoContext(r.Context(), "signed in", "user_id", v.userID, "project_id", v.projectID)
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// leave ends the session, and the token with it.
func (s *Server) leave(w http.ResponseWriter, r *http.Request) {
	if session := s.sessions.Of(r); session != nil {
		if !session.Own(r) {
			s.site.Refuse(w, r, http.StatusForbidden, "The form is not of this session. Go back, load the page again, and repeat what you did.")
			return
		}
		session.Value.revoke(r.Context())
		s.o.Log.InfoContext(r.Context(), "signed out", "user_id", session.Value.userID)
	}
	s.sessions.End(w, r)
	s.site.Refuse(w, r, http.StatusOK, "You have signed out, and your token does not work any more.")
}
