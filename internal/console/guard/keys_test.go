package guard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// TestKeysChange without a session being lost: the new one seals when all replicas have it,
// and the former one opens for a day.
func TestKeysChange(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	file := filepath.Join(t.TempDir(), "key")
	write := func(letter string) {
		if err := os.WriteFile(file, []byte(strings.Repeat(letter, 40)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func() *Keys {
		k, err := NewKeys(file, clock)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	seal := func(k *Keys) string {
		text, err := k.Seal("session", "ada")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	opens := func(k *Keys, purpose, text string) bool {
		var who string
		return k.Open(purpose, text, &who) == nil && who == "ada"
	}
	write("a")
	one, two := start(), start()
	old := seal(one)
	if !opens(two, "session", old) || opens(two, "journey", old) || opens(two, "session", old[:len(old)-4]+"AAAA") || opens(two, "session", "") || opens(two, "session", "%") {
		t.Error("another replica opens what was sealed, for the same purpose, unchanged")
	}
	if alone, err := NewKeys("", clock); err != nil || opens(alone, "session", old) {
		t.Errorf("keys of its own open it, or %v", err)
	}
	write("b")
	now = now.Add(time.Minute)
	if text := seal(one); !opens(two, "session", text) || !opens(one, "session", old) {
		t.Error("the former key seals while the other replica may not have the new one")
	}
	fresh := start() // it knows the new one alone
	if text := seal(fresh); !opens(one, "session", text) || !opens(two, "session", text) {
		t.Error("a replica that starts after the change is not understood")
	}
	now = now.Add(settledKey)
	if text := seal(one); !opens(fresh, "session", text) || !opens(one, "session", old) {
		t.Error("the new key does not seal, or the former one opens no more")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	now = now.Add(formerKey)
	seal(one)
	now = now.Add(time.Minute)
	if opens(one, "session", old) {
		t.Error("the former key opens for ever")
	}
	if text := seal(one); !opens(fresh, "session", text) {
		t.Error("without its file, a replica forgets the key")
	}
	write("a")
	if err := os.WriteFile(file, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewKeys(file, clock); err == nil {
		t.Error("a short secret is taken")
	}
}

// replica is one of several that share a key.
func replica(t *testing.T, keys *Keys, now *time.Time, restored *atomic.Int32, fails *atomic.Bool) *Sessions[string] {
	t.Helper()
	return NewSessions(SessionOptions[string]{Cookie: "c", Keys: keys, Now: func() time.Time { return *now }, Restore: func(_ context.Context, secret string) (string, error) {
		restored.Add(1)
		if fails.Load() {
			return "", errors.New("Keystone does not know it")
		}
		return "of " + secret, nil
	}})
}

// TestSessionsGoOnElsewhere: on another replica, and after a start.
func TestSessionsGoOnElsewhere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	keys, err := NewKeys("", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	var restored atomic.Int32
	var fails atomic.Bool
	one, two := replica(t, keys, &now, &restored, &fails), replica(t, keys, &now, &restored, &fails)
	w := httptest.NewRecorder()
	first := one.Begin(w, now.Add(100*time.Hour), "ada", "token")
	if strings.Contains(first.Value, "token") {
		t.Error("the cookie shows the token")
	}
	r := visit("GET", "http://x/", []*http.Cookie{first})
	a, b := one.Of(r), two.Of(r)
	if a == nil || b == nil || b.Value != "of token" || a.CSRF != b.CSRF || restored.Load() != 1 {
		t.Fatalf("%+v and %+v, restored %d times", a, b, restored.Load())
	}
	two.Of(r)
	if restored.Load() != 1 {
		t.Error("it is restored for each request")
	}
	// Who is busy on one replica is not idle on the other.
	now = now.Add(11 * time.Hour)
	w = httptest.NewRecorder()
	if one.Admit(w, r) == nil || len(w.Result().Cookies()) != 1 {
		t.Fatal("the cookie is not made anew")
	}
	renewed := visit("GET", "http://x/", w.Result().Cookies())
	now = now.Add(2 * time.Hour)
	if two.Of(renewed) == nil {
		t.Error("the other replica says that it is idle")
	}
	if stale := replica(t, keys, &now, &restored, &fails); stale.Of(r) != nil || stale.Of(renewed) == nil {
		t.Error("a replica that starts goes by the cookie's time")
	}
	// What Keystone does not know does not come back, nor what was signed out here.
	fails.Store(true)
	if replica(t, keys, &now, &restored, &fails).Of(renewed) != nil {
		t.Error("a token that is no more begins a session")
	}
	fails.Store(false)
	two.End(httptest.NewRecorder(), renewed)
	if two.Of(renewed) != nil || two.Of(r) != nil {
		t.Error("a copy of the cookie comes back after signing out")
	}
	// A token that no cookie can have stays in memory.
	w = httptest.NewRecorder()
	long := visit("GET", "http://x/", []*http.Cookie{one.Begin(w, now.Add(time.Hour), "bob", strings.Repeat("x", 5000))})
	if cookie := w.Result().Cookies()[0]; len(cookie.Value) > longestCookie || one.Of(long) == nil || two.Of(long) != nil {
		t.Errorf("a cookie of %d bytes", len(cookie.Value))
	}
	other, _ := NewKeys("", nil)
	if replica(t, other, &now, &restored, &fails).Of(renewed) != nil {
		t.Error("a console with another key takes the session")
	}
}

// TestParcels come back unchanged, in time, and for what they were made.
func TestParcels(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	s := NewSessions(SessionOptions[string]{Cookie: "c", TLS: true, Now: func() time.Time { return now }})
	p, other := Parcel{Name: "journey", Lasts: time.Minute, Abroad: true}, Parcel{Name: "choice", Lasts: time.Minute}
	w := httptest.NewRecorder()
	if err := s.Carry(w, p, map[string]string{"back": "/x"}); err != nil {
		t.Fatal(err)
	}
	cookie := w.Result().Cookies()[0]
	if cookie.Name != "__Host-c-journey" || cookie.SameSite != http.SameSiteNoneMode || !cookie.Secure || !cookie.HttpOnly || cookie.MaxAge != 60 {
		t.Errorf("the cookie is %+v", cookie)
	}
	var got map[string]string
	if r := visit("POST", "https://x/", []*http.Cookie{cookie}); !s.Arrived(r, p, &got) || got["back"] != "/x" {
		t.Errorf("arrived with %v", got)
	}
	renamed := *cookie
	renamed.Name = "__Host-c-choice"
	if s.Arrived(visit("POST", "https://x/", []*http.Cookie{&renamed}), other, &got) || s.Arrived(visit("POST", "https://x/", nil), p, &got) {
		t.Error("it is taken for something else, or without a cookie")
	}
	now = now.Add(61 * time.Second)
	if s.Arrived(visit("POST", "https://x/", []*http.Cookie{cookie}), p, &got) {
		t.Error("it lasts too long")
	}
	if err := s.Carry(w, p, strings.Repeat("x", 5000)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long one: %v", err)
	}
}

// TestTheCallback takes forms of one other site, and says who else has sent one.
func TestTheCallback(t *testing.T) {
	t.Parallel()
	s := NewSessions(SessionOptions[string]{Cookie: "c", Public: public(t, "https://clusters.example"), Callback: "/in", CallbackOrigin: "https://keystone.example",
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why words.Text) {
			http.Error(w, why.String(), status)
		}})
	handler := s.Keep(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, test := range map[string]struct {
		path, origin string
		want         int
	}{
		"Keystone":           {"/in", "https://keystone.example", 200},
		"another site":       {"/in", "https://evil.example", 403},
		"no origin":          {"/in", "", 403},
		"a hidden origin":    {"/in", "null", 403},
		"our own page":       {"/in", "https://clusters.example", 403},
		"Keystone elsewhere": {"/clusters/new", "https://keystone.example", 403},
		"without TLS":        {"/in", "http://keystone.example", 403},
	} {
		var headers []string
		if test.origin != "" {
			headers = []string{"Origin", test.origin}
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, visit("POST", "http://clusters.example"+test.path, nil, headers...)); w.Code != test.want {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}
