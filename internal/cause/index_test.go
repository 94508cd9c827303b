package cause

import (
	"fmt"
	"testing"
	"time"
)

// TestAnIndexFindsTheSame as a search from end to end: by id, the newest of a name, ports.
func TestAnIndexFindsTheSame(t *testing.T) {
	t.Parallel()
	old, now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	plain := &Cloud{Servers: []Server{{ID: "a", Name: "w", Created: old}, {ID: "b", Name: "w", Created: now}, {ID: "c", Name: "x"}}, Ports: []Port{{ID: "p", Device: "a"}, {ID: "q", Device: "b"}, {ID: "r", Device: "a"}}}
	copied := *plain
	indexed := copied.Indexed()
	for _, ask := range [][2]string{{"a", ""}, {"", "w"}, {"a", "x"}, {"z", "w"}, {"", ""}, {"", "z"}, {"c", "w"}} {
		found, want := indexed.server(ask[0], ask[1]), plain.server(ask[0], ask[1])
		if (found == nil) != (want == nil) || found != nil && found.ID != want.ID {
			t.Errorf("%q: %v, want %v", ask, found, want)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		if got, want := fmt.Sprint(indexed.portsOf(id)), fmt.Sprint(plain.portsOf(id)); got != want {
			t.Errorf("ports of %s: %s, want %s", id, got, want)
		}
	}
	if (*Cloud)(nil).Indexed() != nil {
		t.Error("an index of no cloud")
	}
}
