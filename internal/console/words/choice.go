package words

import (
	"net/http"
	"slices"
	"time"

	"golang.org/x/text/language"
)

// Languages are those that pages can be in.
type Languages struct {
	list    []*Language
	matcher language.Matcher
}

const (
	// cookieName is the cookie that keeps the choice of somebody. It is no secret, and the same
	// for all consoles of a host.
	cookieName = "slipway-language"
	cookieTime = 365 * 24 * time.Hour
	// longestWish is how long a list of languages that is read may be.
	longestWish = 1000
)

// All are the languages, English first.
func (l *Languages) All() []*Language { return slices.Clone(l.list) }

// English is the language in which nothing is missing.
func (l *Languages) English() *Language { return l.list[0] }

// Find is the language of a tag; nil if there is none.
func (l *Languages) Find(tag string) *Language {
	for _, one := range l.list {
		if one.Tag.String() == tag {
			return one
		}
	}
	return nil
}

// Of is the language of a request: the one that was chosen, else the first that the browser
// asks for, else English.
func (l *Languages) Of(r *http.Request) *Language {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if one := l.Find(cookie.Value); one != nil {
			return one
		}
	}
	asked := r.Header.Get("Accept-Language")
	if len(asked) > longestWish {
		return l.English()
	}
	wanted, _, err := language.ParseAcceptLanguage(asked)
	if err != nil || len(wanted) == 0 {
		return l.English()
	}
	_, at, confidence := l.matcher.Match(wanted...)
	if confidence == language.No {
		return l.English()
	}
	return l.list[at]
}

// Keep has the browser keep a choice.
func Keep(w http.ResponseWriter, l *Language, secure bool) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: l.Tag.String(), Path: "/", MaxAge: int(cookieTime.Seconds()), HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode})
}

// Carry gives a request that is made of another the language of that one.
func Carry(to, from *http.Request) {
	to.Header["Accept-Language"] = from.Header["Accept-Language"]
	if cookie, err := from.Cookie(cookieName); err == nil {
		to.AddCookie(cookie)
	}
}
