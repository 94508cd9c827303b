package guard

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// mostSessions bounds the memory: when there are more, the one that is idle for the longest
// ends.
const mostSessions = 10_000

// Session is one browser of somebody who has signed in.
type Session[T any] struct {
	// CSRF is the token that its forms send in the field "csrf".
	CSRF string
	// Ends is when it ends at the latest.
	Ends time.Time
	// Value is what the program knows of it.
	Value T

	id   string
	last time.Time
}

// Sessions lets in many, who sign in on a page. What they have is kept in memory alone.
type Sessions[T any] struct {
	o      SessionOptions
	secure bool
	host   string

	mu   sync.Mutex
	byID map[string]*Session[T]
}

// SessionOptions are the parts of Sessions.
type SessionOptions struct {
	// Cookie is its name.
	Cookie string
	// Public is the address that browsers use; nil is that of each request.
	Public *url.URL
	// TLS says that the program itself serves HTTPS.
	TLS    bool
	Refuse Refuse
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// NewSessions returns Sessions without any.
func NewSessions[T any](o SessionOptions) *Sessions[T] {
	s := &Sessions[T]{o: o, secure: o.TLS, byID: map[string]*Session[T]{}}
	if o.Public != nil {
		s.secure, s.host = o.Public.Scheme == "https", o.Public.Host
	}
	if s.secure {
		s.o.Cookie = "__Host-" + o.Cookie // browsers take it from HTTPS only, and from no other host
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	return s
}

// Begin makes a session and gives the browser its cookie.
func (s *Sessions[T]) Begin(w http.ResponseWriter, ends time.Time, value T) *Session[T] {
	made := &Session[T]{CSRF: rand.Text(), Ends: ends, Value: value, id: rand.Text(), last: s.o.Now()}
	s.mu.Lock()
	if len(s.byID) >= mostSessions {
		s.forget()
	}
	s.byID[made.id] = made
	s.mu.Unlock()
	http.SetCookie(w, s.cookie(made.id, 0))
	return made
}

// forget drops what has ended, or else the session that is idle for the longest.
func (s *Sessions[T]) forget() {
	var oldest *Session[T]
	for id, one := range s.byID {
		if !s.lasts(one) {
			delete(s.byID, id)
		} else if oldest == nil || one.last.Before(oldest.last) {
			oldest = one
		}
	}
	if oldest != nil && len(s.byID) >= mostSessions {
		delete(s.byID, oldest.id)
	}
}

func (s *Sessions[T]) lasts(one *Session[T]) bool {
	now := s.o.Now()
	return now.Before(one.Ends) && now.Sub(one.last) <= idle
}

func (s *Sessions[T]) cookie(id string, age int) *http.Cookie {
	return &http.Cookie{Name: s.o.Cookie, Value: id, Path: "/", MaxAge: age, HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode}
}

// Of is the session of a request; nil if there is none or it has ended. Asking does not make
// it last longer: Admit does.
func (s *Sessions[T]) Of(r *http.Request) *Session[T] {
	cookie, err := r.Cookie(s.o.Cookie)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byID[cookie.Value] // 130 random bits: nobody finds them by time
	if one == nil || !s.lasts(one) {
		delete(s.byID, cookie.Value)
		return nil
	}
	return one
}

// Admit is Of for a request that somebody made: the session goes on.
func (s *Sessions[T]) Admit(r *http.Request) *Session[T] {
	one := s.Of(r)
	if one != nil {
		s.mu.Lock()
		one.last = s.o.Now()
		s.mu.Unlock()
	}
	return one
}

// End ends the session of a request.
func (s *Sessions[T]) End(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(s.o.Cookie); err == nil {
		s.mu.Lock()
		delete(s.byID, cookie.Value)
		s.mu.Unlock()
	}
	http.SetCookie(w, s.cookie("", -1))
}

// Len is how many sessions are kept.
func (s *Sessions[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}

// Sent reports whether a browser has the cookie of a session, which may have ended.
func (s *Sessions[T]) Sent(r *http.Request) bool {
	_, err := r.Cookie(s.o.Cookie)
	return err == nil
}

// Entrance is the token of the form that signs in, before there is a session: a cookie has
// it too. Without it another site could sign a browser in as somebody else.
func (s *Sessions[T]) Entrance(w http.ResponseWriter, r *http.Request) string {
	if cookie, err := r.Cookie(s.o.Cookie + "-enter"); err == nil && len(cookie.Value) >= len(rand.Text()) {
		return cookie.Value
	}
	cookie := s.cookie(rand.Text(), 0)
	cookie.Name += "-enter"
	http.SetCookie(w, cookie)
	return cookie.Value
}

// OwnEntrance reports whether a form that signs in was made by a page of ours.
func (s *Sessions[T]) OwnEntrance(r *http.Request) bool {
	cookie, err := r.Cookie(s.o.Cookie + "-enter")
	return err == nil && same(r.PostFormValue(csrfKey), cookie.Value)
}

// Own reports whether a form was made by a page of the session.
func (one *Session[T]) Own(r *http.Request) bool { return same(r.PostFormValue(csrfKey), one.CSRF) }

// Keep is a handler that lets requests of our own pages through to next, and hardens every
// answer. Who is signed in is next's to ask.
func (s *Sessions[T]) Keep(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header())
		scheme := "http://"
		if s.secure {
			scheme = "https://"
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		r.Body = http.MaxBytesReader(w, r.Body, largestForm)
		switch {
		case s.host != "" && !strings.EqualFold(r.Host, s.host):
			s.o.Refuse(w, r, http.StatusMisdirectedRequest, "This address is not the console's. Use https://"+s.host+"/ or what your cloud says.")
		case foreign(r, scheme+r.Host):
			s.o.Refuse(w, r, http.StatusForbidden, "The request came from another site.")
		case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost}, r.Method):
			w.Header().Set("Allow", "GET, HEAD, POST")
			s.o.Refuse(w, r, http.StatusMethodNotAllowed, "The console does not know this method.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}
