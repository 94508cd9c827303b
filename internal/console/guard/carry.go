package guard

import (
	"errors"
	"net/http"
	"time"
)

// ErrTooLong says that a browser would not keep what it is to carry.
var ErrTooLong = errors.New("it is too long for a cookie")

// Parcel is what a browser carries for us, sealed, from one page to a later one.
type Parcel struct {
	// Name is of its cookie, and what it is sealed for.
	Name string
	// Lasts is how long it can be opened.
	Lasts time.Duration
	// Abroad also has browsers send it with a form of another site. They do so over HTTPS
	// alone.
	Abroad bool
}

// carried is a parcel's content with the time at which it was sealed.
type carried struct {
	At   int64 `json:"a"`
	What any   `json:"w"`
}

// Carry gives the browser a parcel.
func (s *Sessions[T]) Carry(w http.ResponseWriter, p Parcel, what any) error {
	text, err := s.o.Keys.Seal(p.Name, carried{s.o.Now().Unix(), what})
	if err != nil {
		return err
	}
	if len(text) > longestCookie {
		return ErrTooLong
	}
	http.SetCookie(w, s.parcel(p, text, int(p.Lasts.Seconds())))
	return nil
}

func (s *Sessions[T]) parcel(p Parcel, text string, age int) *http.Cookie {
	cookie := s.cookie(text, age)
	cookie.Name += "-" + p.Name
	if p.Abroad {
		cookie.SameSite = http.SameSiteNoneMode
	}
	return cookie
}

// Arrived reads a parcel that a request brings; false if there is none, or it is too old.
func (s *Sessions[T]) Arrived(r *http.Request, p Parcel, what any) bool {
	cookie, err := r.Cookie(s.o.Cookie + "-" + p.Name)
	if err != nil {
		return false
	}
	in := carried{What: what}
	return s.o.Keys.Open(p.Name, cookie.Value, &in) == nil && s.o.Now().Sub(time.Unix(in.At, 0)) <= p.Lasts
}

// Drop has the browser forget a parcel.
func (s *Sessions[T]) Drop(w http.ResponseWriter, p Parcel) {
	http.SetCookie(w, s.parcel(p, "", -1))
}
