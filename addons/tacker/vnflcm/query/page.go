package query

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Marker is the query parameter by which the next page is asked for.
const Marker = "nextpage_opaque_marker"

// markerPrefix is the version of markers.
const markerPrefix = "1:"

// Page cuts a page out of items, which are in the order of their keys, and returns the
// query of the next page; nil if this is the last. A size of 0 has no pages. Keys may
// have gone meanwhile: a page begins after the marker, wherever that was.
func Page[T any](items []T, keyOf func(T) string, size int, values url.Values) ([]T, url.Values, error) {
	if values.Has(Marker) {
		after, err := readMarker(values.Get(Marker))
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(items, func(item T) bool { return keyOf(item) > after })
		if i < 0 {
			i = len(items)
		}
		items = items[i:]
	}
	if size <= 0 || len(items) <= size {
		return items, nil, nil
	}
	items = items[:size]
	next := url.Values{}
	for name, value := range values {
		next[name] = value
	}
	next.Set(Marker, base64.RawURLEncoding.EncodeToString([]byte(markerPrefix+keyOf(items[size-1]))))
	return items, next, nil
}

func readMarker(text string) (string, error) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	after, ok := strings.CutPrefix(string(plain), markerPrefix)
	if err != nil || !ok || after == "" {
		return "", errors.New(Marker + " is not one of this server")
	}
	return after, nil
}
