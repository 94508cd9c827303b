package guard

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// mostSessions bounds the memory: when there are more, the one that is idle for the longest
// ends.
const mostSessions = 10_000

const (
	// resealed is how old what a cookie says of the last request may be.
	resealed = 10 * time.Minute
	// restoreTime bounds how long a session that is not in memory is looked for.
	restoreTime = 15 * time.Second
	// longestCookie is the most that browsers keep of a cookie, less its name.
	longestCookie = 3900
	// sessionPurpose is what keys seal the cookies of sessions for.
	sessionPurpose = "session"
)

// Session is one browser of somebody who has signed in.
type Session[T any] struct {
	// CSRF is the token that its forms send in the field "csrf".
	CSRF string
	// Ends is when it ends at the latest.
	Ends time.Time
	// Value is what the program knows of it.
	Value T

	id, secret   string
	last, sealed time.Time
}

// Sessions lets in many, who sign in on a page. A session is in its sealed cookie: a replica
// that has not seen it, or was started again, makes it again from there. What is in memory is
// what they have read.
type Sessions[T any] struct {
	o      SessionOptions[T]
	secure bool
	host   string

	restoring singleflight.Group

	mu    sync.Mutex
	byID  map[string]*Session[T]
	ended map[string]time.Time // that were signed out here, until they would have ended
}

// SessionOptions are the parts of Sessions.
type SessionOptions[T any] struct {
	// Cookie is its name.
	Cookie string
	// Keys seal cookies.
	Keys *Keys
	// Restore makes the value of a session from the secret that it was begun with; nil keeps
	// sessions in memory alone.
	Restore func(ctx context.Context, secret string) (T, error)
	// Public is the address that browsers use; nil is that of each request.
	Public *url.URL
	// TLS says that the program itself serves HTTPS.
	TLS bool
	// Callback is a path that takes forms from another site, CallbackOrigin alone.
	Callback, CallbackOrigin string
	Refuse                   Refuse
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// inCookie is a session as its cookie has it.
type inCookie struct {
	ID     string `json:"i"`
	CSRF   string `json:"c"`
	Secret string `json:"s,omitempty"`
	Ends   int64  `json:"e"`
	Last   int64  `json:"l"`
}

// NewSessions returns Sessions without any.
func NewSessions[T any](o SessionOptions[T]) *Sessions[T] {
	s := &Sessions[T]{o: o, secure: o.TLS, byID: map[string]*Session[T]{}, ended: map[string]time.Time{}}
	if o.Public != nil {
		s.secure, s.host = o.Public.Scheme == "https", hostOf(o.Public.Scheme, o.Public.Host)
	}
	if s.secure {
		s.o.Cookie = "__Host-" + o.Cookie // browsers take it from HTTPS only, and from no other host
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	if s.o.Keys == nil {
		s.o.Keys, _ = NewKeys("", s.o.Now) // without a file it does not fail
	}
	return s
}

// Begin makes a session, and gives the browser its cookie, which it returns. The secret is
// what Restore makes the value from.
func (s *Sessions[T]) Begin(w http.ResponseWriter, ends time.Time, value T, secret string) *http.Cookie {
	made := &Session[T]{CSRF: rand.Text(), Ends: ends, Value: value, id: rand.Text(), secret: secret, last: s.o.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(made)
	return s.give(w, made)
}

// keep has a session in memory.
func (s *Sessions[T]) keep(one *Session[T]) {
	if len(s.byID) >= mostSessions {
		s.forget()
	}
	s.byID[one.id] = one
}

// give sends the cookie of a session as it is now. A secret that is too long for one stays
// in memory alone.
func (s *Sessions[T]) give(w http.ResponseWriter, one *Session[T]) *http.Cookie {
	in := inCookie{ID: one.id, CSRF: one.CSRF, Secret: one.secret, Ends: one.Ends.Unix(), Last: one.last.Unix()}
	if s.o.Restore == nil {
		in.Secret = ""
	}
	text, err := s.o.Keys.Seal(sessionPurpose, in)
	if err == nil && len(text) > longestCookie {
		in.Secret = ""
		text, err = s.o.Keys.Seal(sessionPurpose, in)
	}
	if err != nil { // texts and numbers can be encoded
		return nil
	}
	one.sealed = one.last
	cookie := s.cookie(text, 0)
	http.SetCookie(w, cookie)
	return cookie
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

// read is what the cookie of a request says, if it was sealed here.
func (s *Sessions[T]) read(r *http.Request) (in inCookie, ok bool) {
	cookie, err := r.Cookie(s.o.Cookie)
	return in, err == nil && s.o.Keys.Open(sessionPurpose, cookie.Value, &in) == nil
}

// Of is the session of a request; nil if there is none or it has ended. Asking does not make
// it last longer: Admit does.
func (s *Sessions[T]) Of(r *http.Request) *Session[T] {
	in, ok := s.read(r)
	if !ok {
		return nil
	}
	s.mu.Lock()
	one := s.byID[in.ID]
	_, ended := s.ended[in.ID]
	if one != nil { // another replica may have seen it since
		if last := time.Unix(in.Last, 0); last.After(one.last) {
			one.last, one.sealed = last, last
		}
	}
	if one != nil && !s.lasts(one) {
		delete(s.byID, in.ID)
		one, ended = nil, true
	}
	s.mu.Unlock()
	if one != nil || ended || in.Secret == "" || s.o.Restore == nil {
		return one
	}
	return s.restore(r.Context(), in)
}

// restore makes a session anew that is not in memory; requests of one browser wait for the
// first of them.
func (s *Sessions[T]) restore(ctx context.Context, in inCookie) *Session[T] {
	one := &Session[T]{CSRF: in.CSRF, Ends: time.Unix(in.Ends, 0), id: in.ID, secret: in.Secret, last: time.Unix(in.Last, 0), sealed: time.Unix(in.Last, 0)}
	if !s.lasts(one) {
		return nil
	}
	made, err, _ := s.restoring.Do(in.ID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
		defer cancel()
		value, err := s.o.Restore(ctx, in.Secret)
		if err != nil {
			return nil, err
		}
		one.Value = value
		s.mu.Lock()
		defer s.mu.Unlock()
		if known := s.byID[in.ID]; known != nil {
			return known, nil
		}
		s.keep(one)
		return one, nil
	})
	if err != nil {
		return nil
	}
	return made.(*Session[T]) //nolint:forcetypeassert // it is made above
}

// Admit is Of for a request that somebody made: the session continues.
func (s *Sessions[T]) Admit(w http.ResponseWriter, r *http.Request) *Session[T] {
	one := s.Of(r)
	if one == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one.last = s.o.Now()
	if one.last.Sub(one.sealed) >= resealed {
		s.give(w, one)
	}
	return one
}

// End ends the session of a request. On this replica it does not come back, whoever has a
// copy of its cookie.
func (s *Sessions[T]) End(w http.ResponseWriter, r *http.Request) {
	if in, ok := s.read(r); ok {
		s.mu.Lock()
		delete(s.byID, in.ID)
		for id, ends := range s.ended {
			if s.o.Now().After(ends) {
				delete(s.ended, id)
			}
		}
		s.ended[in.ID] = time.Unix(in.Ends, 0)
		s.mu.Unlock()
	}
	http.SetCookie(w, s.cookie("", -1))
}

// Len is how many sessions are in memory.
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
		scheme := "http"
		if s.secure {
			scheme = "https"
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		r.Body = http.MaxBytesReader(w, r.Body, largestForm)
		host := hostOf(scheme, r.Host)
		switch {
		case s.host != "" && host != s.host:
			s.o.Refuse(w, r, http.StatusMisdirectedRequest, words.T("This address is not the console's. Use %s or what your cloud says.", scheme+"://"+s.host+"/"))
		case r.Method == http.MethodPost && s.o.Callback != "" && r.URL.Path == s.o.Callback:
			if r.Header.Get("Origin") != s.o.CallbackOrigin {
				s.o.Refuse(w, r, http.StatusForbidden, words.T("The request did not come from %s, or your browser does not say where it came from.", s.o.CallbackOrigin))
				return
			}
			next.ServeHTTP(w, r)
		case foreign(r, scheme+"://"+host):
			s.o.Refuse(w, r, http.StatusForbidden, words.T("The request came from another site."))
		case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost}, r.Method):
			w.Header().Set("Allow", "GET, HEAD, POST")
			s.o.Refuse(w, r, http.StatusMethodNotAllowed, words.T("The console does not know this method."))
		default:
			next.ServeHTTP(w, r)
		}
	})
}
