package keymanager

import (
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// parseTime reads a time with a zone or without one, which is UTC, and
// returns it in the form in which times are kept and compared.
func parseTime(value string) (string, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, value); err == nil {
			return at.UTC().Format(model.KeyTime), true
		}
	}
	return "", false
}

// expire sets when a secret ends.
func (s *service) expire(v *model.Secret, value *string) error {
	if text(value) == "" {
		return nil
	}
	at, ok := parseTime(*value)
	if !ok {
		return mismatch("Secret", "expiration", "Invalid date for 'expiration'")
	}
	if at <= s.now() {
		return mismatch("Secret", "expiration", "'expiration' is before current time")
	}
	v.Expiration = &at
	return nil
}

// dateFilter reads conditions such as "gte:2015-01-01T00:00:00,lt:2016-01-01"
// which all have to hold; nil is none.
func dateFilter(parameter, value string) (func(string) bool, error) {
	if value == "" {
		return nil, nil
	}
	var tests []func(string) bool
	for _, condition := range strings.Split(value, ",") {
		operator, rest, _ := strings.Cut(condition, ":")
		compare := map[string]func(int) bool{
			"gt": func(n int) bool { return n > 0 }, "gte": func(n int) bool { return n >= 0 },
			"lt": func(n int) bool { return n < 0 }, "lte": func(n int) bool { return n <= 0 },
		}[operator]
		if compare == nil {
			rest, compare = condition, func(n int) bool { return n == 0 }
		}
		at, ok := parseTime(rest)
		if !ok {
			return nil, api.BadRequest("Invalid value for query parameter '%s': %q", parameter, value)
		}
		tests = append(tests, func(have string) bool { return have != "" && compare(strings.Compare(have, at)) })
	}
	return func(have string) bool {
		for _, test := range tests {
			if !test(have) {
				return false
			}
		}
		return true
	}, nil
}
