package keystone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// TestEndpointsOfARegion: the first of the wanted interface, of the region if one is given.
func TestEndpointsOfARegion(t *testing.T) {
	t.Parallel()
	const text = `{"token": {"catalog": [
		{"type": "compute", "endpoints": [{"interface": "internal", "region_id": "one", "url": "http://internal"}, {"interface": "public", "region_id": "two", "url": "http://two/"},
			{"interface": "public", "region_id": "one", "url": "http://one/v2.1/"}, {"interface": "public", "region_id": "one", "url": "http://again"}]},
		{"type": "image", "endpoints": [{"interface": "public", "region_id": "one", "url": "http://image"}]},
		{"type": "dns", "endpoints": [{"interface": "admin", "region_id": "one", "url": "http://dns"}]}]}}`
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		region, face string
		want         map[string]string
	}{
		"one":        {"one", "public", map[string]string{"compute": "http://one/v2.1", "image": "http://image"}},
		"two":        {"two", "public", map[string]string{"compute": "http://two"}},
		"any":        {"", "public", map[string]string{"compute": "http://two", "image": "http://image"}},
		"internal":   {"one", "internal", map[string]string{"compute": "http://internal"}},
		"none there": {"three", "public", map[string]string{}},
	} {
		if got := a.token("id", test.region, test.face); !maps.Equal(got.Endpoints, test.want) || got.ID != "id" || got.ProjectID != "" || got.Restricted {
			t.Errorf("%s: %v, want %v", name, got.Endpoints, test.want)
		}
	}
}

// TestTokensThatAreRemembered are bounded: those that are over go first, and then any half.
func TestTokensThatAreRemembered(t *testing.T) {
	t.Parallel()
	clock := &moved{}
	now := clock.now()
	for name, test := range map[string]struct{ before, over, want int }{
		"room for one":      {mostTokens - 1, 0, mostTokens},
		"full":              {mostTokens, 0, mostTokens/2 + 1},
		"full, most over":   {mostTokens, mostTokens * 3 / 4, mostTokens/4 + 1},
		"full, one is over": {mostTokens, 1, mostTokens/2 + 1},
	} {
		v := NewValidator(Options{Now: func() time.Time { return now }})
		for i := range test.before {
			until := now.Add(time.Minute)
			if i < test.over {
				until = now.Add(-time.Minute)
			}
			v.known[keyOf(fmt.Sprint(i), false)] = remembered{until: until}
		}
		v.remember(keyOf("new", false), &Token{ID: "new"})
		if got := v.known[keyOf("new", false)]; len(v.known) != test.want || got.token == nil || !got.until.Equal(now.Add(time.Minute)) {
			t.Errorf("%s: %d are remembered, want %d", name, len(v.known), test.want)
		}
		for _, r := range v.known {
			if test.over > 1 && now.After(r.until) {
				t.Fatalf("%s: one that is over is remembered", name)
			}
		}
	}
}

// TestProjectsThatNobodyCanAskAbout are not said to exist, nor not to.
func TestProjectsThatNobodyCanAskAbout(t *testing.T) {
	t.Parallel()
	cloud, v, wire, _ := start(t)
	if _, err := v.Validate(t.Context(), cloud.Member.Provider.Token(), ""); err != nil {
		t.Fatal(err)
	}
	wire.broken.Store(true)
	away := NewValidator(Options{Identity: func(context.Context) (*gophercloud.ServiceClient, error) { return nil, errors.New("wrong password") }})
	for name, asked := range map[string]*Validator{"Keystone is away": v, "the service user cannot log in": away} {
		if exists, err := asked.ProjectExists(t.Context(), "p"); exists || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %t, %v", name, exists, err)
		}
		if exists, err := asked.ProjectExistsFor(t.Context(), "token", "p"); exists || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s, for a caller: %t, %v", name, exists, err)
		}
	}
}
