package target

import "testing"

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
	for want, networks := range map[string]map[string]any{
		"10.0.0.5": {"net": []any{port("fd00::5", "fixed"), port("203.0.113.5", "floating"), port("10.0.0.5", "fixed")}},
		"fd00::5":  {"net": []any{port("fd00::5", "fixed")}},
		"":         {"net": []any{port("203.0.113.5", "floating")}, "other": "x"},
	} {
		if got := fixedAddress(networks); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
