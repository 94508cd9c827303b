package target

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/stacks/engine"
)

func TestAPlanHasOneLineForEachProperty(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"nothing":               {nil, "(none)"},
		"a number":              {3, "3"},
		"what is known later":   {engine.NotKnown, "(known later)"},
		"a long text":           {strings.Repeat("x", 61), strings.Repeat("x", 57) + "..."},
		"a long foreign text":   {strings.Repeat("ü", 61), strings.Repeat("ü", 57) + "..."},
		"umlauts that fit":      {strings.Repeat("ü", 60), strings.Repeat("ü", 60)},
		"a certificate":         {"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----..."},
		"one line with its end": {"tls: true\n", "tls: true"},
		"a secret":              {map[string]any{"4dabf18193072939515e22adb298388d": "1b47", "ciphertext": "x"}, "[secret]"},
	} {
		if got := Value(test.value); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
