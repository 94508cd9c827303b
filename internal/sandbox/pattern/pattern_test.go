package pattern_test

import (
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/pattern"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/v2.1/servers", "/v2.1/servers", true},
		{"/v2.1/servers", "/v2x1/servers", false},
		{"/v2.1/servers", "/v2.1/servers/1", false},
		{"/v2.1/servers/*", "/v2.1/servers/1", true},
		{"/v2.1/servers/*", "/v2.1/servers/1/ips", false},
		{"/v2.1/servers/*", "/v2.1/servers/", false},
		{"/v2.1/servers/{id}/ips", "/v2.1/servers/1/ips", true},
		{"/v2.1/servers/{id}/ips", "/v2.1/servers/1/2/ips", false},
		{"/v2.1/**", "/v2.1/servers/1/ips", true},
		{"**", "/anything", true},
		{"/v2.1/{id", "/v2.1/1", false},
	} {
		if got := pattern.Match(c.pattern, c.path); got != c.want {
			t.Errorf("%s and %s: %v", c.pattern, c.path, got)
		}
	}
}
