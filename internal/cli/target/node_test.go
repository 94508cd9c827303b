package target

import (
	"context"
	"errors"
	"slices"
	"testing"
)

const (
	ed25519Key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO42nC81m4BRIf4TTQ9bCAgCHBdKaHZo/h4N81/fQEF8 root@a"
	ecdsaKey   = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGmxO+FHoyyAu7j7kG0DIaaJyQvyPfm3y+J2ZM0amoVYZWThchdEqPGxqFEGd9N/o/6i4YZKxqlsOtkrHwjoW5c= root@a"
	begins     = "-----BEGIN SSH HOST KEY KEYS-----\r\n"
	ends       = "-----END SSH HOST KEY KEYS-----\r\n"
)

func TestTheHostKeyIsTheLastOnTheConsole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ console, want string }{
		"both":            {"boot\n" + begins + ecdsaKey + "\r\n" + ed25519Key + "\r\n" + ends + "login:", ed25519Key},
		"one":             {begins + ecdsaKey + "\n" + ends, ecdsaKey},
		"booted again":    {begins + ecdsaKey + "\n" + ends + "boot\n" + begins + ed25519Key + "\n" + ends, ed25519Key},
		"cut at its end":  {begins + ed25519Key[:40], ""},
		"cut before that": {ed25519Key + "\n" + ends, ""},
		"no key":          {begins + "ssh-ed25519 AAAA root@a\n" + ends, ""},
		"nothing":         {"login:", ""},
	} {
		if got := hostKeyIn(test.console); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheAddressIsAFixedOne(t *testing.T) {
	t.Parallel()
	port := func(address, kind string) any { return map[string]any{"addr": address, "OS-EXT-IPS:type": kind} }
	for _, test := range []struct {
		networks map[string]any
		want     []string
	}{
		{map[string]any{"net": []any{port("fd00::5", "fixed"), port("203.0.113.5", "floating"), port("10.0.0.5", "fixed")}}, []string{"10.0.0.5", "fd00::5"}},
		{map[string]any{"storage": []any{port("10.9.0.5", "fixed")}, "net": []any{port("10.0.0.5", "fixed")}}, []string{"10.0.0.5", "10.9.0.5"}},
		{map[string]any{"net": []any{port("fd00::5", "fixed")}}, []string{"fd00::5"}},
		{map[string]any{"net": []any{port("203.0.113.5", "floating")}, "other": "x"}, nil},
	} {
		if got := fixedAddresses(test.networks); !slices.Equal(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestAMachineOfSeveralNetworks is reached by the one that answers, and says why none does.
func TestAMachineOfSeveralNetworks(t *testing.T) {
	t.Parallel()
	silent, refused := errors.New("it did not answer"), errors.New("connection refused")
	answers := map[string]error{"10.0.0.5": silent, "10.9.0.5": nil, "fd00::5": refused}
	open := func(_ context.Context, address string) (string, error) { return address, answers[address] }
	if got, err := firstOf(t.Context(), []string{"10.0.0.5", "10.9.0.5", "fd00::5"}, open); got != "10.9.0.5" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := firstOf(t.Context(), []string{"10.0.0.5", "fd00::5"}, open); !errors.Is(err, silent) || !errors.Is(err, refused) {
		t.Errorf("of none: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tried := 0
	_, err := firstOf(ctx, []string{"10.0.0.5", "10.9.0.5"}, func(context.Context, string) (string, error) {
		tried++
		cancel()
		return "", silent
	})
	if tried != 1 || err == nil {
		t.Errorf("ended, it tried %d: %v", tried, err)
	}
}
