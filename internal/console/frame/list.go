package frame

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// perPage is how many entries a page shows.
const perPage = 100

// List is a page of a list.
type List[T any] struct {
	Reading[[]T]
	// Shown are those of the page, Found how many the question found, All how many there are,
	// Ready how many of all are ready.
	Shown             []T
	Found, All, Ready int
	// Query and Only are what was asked for, Page and Pages where this page is; the first is 1.
	Query, Only string
	Page, Pages int
	// Back and Next are the addresses beside; empty if there is none.
	Back, Next string

	path string
}

// Item is what a list has to know of an entry: Urgency 0 comes first, 2 is well; a question
// looks in Texts.
type Item struct {
	Ready   bool
	Urgency int
	Texts   []string
}

// Choose is the page that a question asks for, those that need somebody first.
func Choose[T any](r Reading[[]T], asked url.Values, path string, of func(T) Item) List[T] {
	l := List[T]{Reading: r, Query: strings.TrimSpace(asked.Get("q")), Only: asked.Get("only"), All: len(r.Value), path: path}
	type chosen struct {
		value   T
		urgency int
	}
	var found []chosen
	for _, value := range r.Value {
		item := of(value)
		if item.Ready {
			l.Ready++
		}
		if l.wants(item) {
			found = append(found, chosen{value, item.Urgency})
		}
	}
	slices.SortStableFunc(found, func(a, b chosen) int { return a.urgency - b.urgency })
	l.Found = len(found)
	l.Pages = max(1, (l.Found+perPage-1)/perPage)
	l.Page, _ = strconv.Atoi(asked.Get("page"))
	l.Page = min(max(1, l.Page), l.Pages)
	for _, one := range found[(l.Page-1)*perPage : min(l.Page*perPage, l.Found)] {
		l.Shown = append(l.Shown, one.value)
	}
	if l.Page > 1 {
		l.Back = l.address(l.Page - 1)
	}
	if l.Page < l.Pages {
		l.Next = l.address(l.Page + 1)
	}
	return l
}

func (l List[T]) wants(item Item) bool {
	if l.Only == "unwell" && item.Urgency == 2 {
		return false
	}
	for _, text := range item.Texts {
		if strings.Contains(strings.ToLower(text), strings.ToLower(l.Query)) {
			return true
		}
	}
	return false
}

func (l List[T]) address(page int) string {
	asked := url.Values{"page": {strconv.Itoa(page)}}
	if l.Query != "" {
		asked.Set("q", l.Query)
	}
	if l.Only != "" {
		asked.Set("only", l.Only)
	}
	return l.path + "?" + asked.Encode()
}
