package tenant

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/guard"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// Signing in at an identity provider takes three requests: the browser departs from here with
// a sealed parcel of ours; Keystone has it authenticate; and a form of Keystone's page brings
// a token of no project. Anybody could send such a form, with a token of somebody else. It
// counts only if the browser says that it comes from Keystone, and brings the parcel.
const (
	departurePath = "/enter/depart"
	// ArrivalPath is what Keystone must have in trusted_dashboard, after the console's URL.
	ArrivalPath = "/enter/websso"
	arrivalPath = ArrivalPath
	// journeyTime is how long somebody may take at the identity provider.
	journeyTime = 10 * time.Minute
)

// Way is a way to sign in that Keystone offers by federation.
type Way struct {
	// Name is the text of its button.
	Name string
	// Provider is empty if Keystone finds it by the protocol.
	Provider, Protocol string
}

var identifier = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$`)

// ParseWay reads NAME=PROTOCOL or NAME=PROVIDER/PROTOCOL.
func ParseWay(text string) (Way, error) {
	at := strings.LastIndex(text, "=")
	if at < 1 {
		return Way{}, errors.New("it is not NAME=PROTOCOL")
	}
	w := Way{Name: strings.TrimSpace(text[:at]), Protocol: text[at+1:]}
	if provider, protocol, ok := strings.Cut(w.Protocol, "/"); ok {
		if w.Provider, w.Protocol = provider, protocol; !identifier.MatchString(provider) {
			return Way{}, errors.New("the provider is not an ID of Keystone")
		}
	}
	if !identifier.MatchString(w.Protocol) {
		return Way{}, errors.New("the protocol is not an ID of Keystone")
	}
	if w.Name == "" {
		return Way{}, errors.New("the name is empty")
	}
	return w, nil
}

// address is where the browser goes.
func (s *Server) address(w Way) string {
	path := "/v3/auth/OS-FEDERATION/websso/" + url.PathEscape(w.Protocol)
	if w.Provider != "" {
		path = "/v3/auth/OS-FEDERATION/identity_providers/" + url.PathEscape(w.Provider) + "/protocols/" + url.PathEscape(w.Protocol) + "/websso"
	}
	base := strings.TrimSuffix(strings.TrimSuffix(s.o.Entrance.String(), "/"), "/v3")
	return base + path + "?origin=" + url.QueryEscape(strings.TrimSuffix(s.o.Public.String(), "/")+arrivalPath)
}

// journey is what the browser takes along to the identity provider.
type journey struct {
	Back string `json:"b"`
	Kept []pair `json:"k,omitempty"`
}

func journeyParcel() guard.Parcel {
	return guard.Parcel{Name: "journey", Lasts: journeyTime, Abroad: true}
}

// choiceParcel is a token of no project, while its owner chooses one.
func choiceParcel() guard.Parcel { return guard.Parcel{Name: "choice", Lasts: journeyTime} }

// depart sends the browser to Keystone. It does so by a page: browsers hold the policy on
// forms against redirects too, also those of identity providers that nobody knows here.
func (s *Server) depart(w http.ResponseWriter, r *http.Request) {
	in, ok := s.ownForm(w, r)
	if !ok {
		return
	}
	n, err := strconv.Atoi(r.PostForm.Get("way"))
	if err != nil || n < 0 || n >= len(s.o.Ways) {
		s.site.Refuse(w, r, http.StatusNotFound, words.T("The console does not know this way to sign in."))
		return
	}
	if err := s.sessions.Carry(w, journeyParcel(), journey{in.Back, in.Kept}); err != nil {
		in.Error = words.T("What you typed is too long to be kept while you are at the identity provider. Sign in with a password or an application credential, or copy it first.")
		s.enterPage(w, r, in, http.StatusRequestEntityTooLarge)
		return
	}
	way := s.o.Ways[n]
	s.site.Bare(w, r, "onward", frame.View{Title: words.T("To %s", way.Name), Onward: s.address(way)}, "", "")
}

// arrive takes the token that a form of Keystone's page has sent.
func (s *Server) arrive(w http.ResponseWriter, r *http.Request) {
	if !s.parse(w, r) {
		return
	}
	var j journey
	if !s.sessions.Arrived(r, journeyParcel(), &j) {
		s.notIn(w, r, signIn{Error: words.T("This sign-in did not begin in this browser, or it took longer than 10 minutes. Sign in again.")}, http.StatusForbidden)
		return
	}
	s.sessions.Drop(w, journeyParcel())
	in := signIn{How: "provider", Domain: s.o.Domain, Back: j.Back, Kept: j.Kept, secret: r.PostForm.Get("token")}
	if in.secret == "" {
		in.Error = words.T("Keystone sent no token. Sign in again.")
		s.notIn(w, r, in, http.StatusUnauthorized)
		return
	}
	v, ends, status := s.login(r.Context(), &in)
	if v != nil {
		s.welcome(w, r, in, v, ends)
		return
	}
	if in.ProjectError != nil && s.sessions.Carry(w, choiceParcel(), in.secret) != nil {
		in.Error = words.T("Your token is too long for this console to keep while you choose a project.")
	}
	s.notIn(w, r, in, status)
}
