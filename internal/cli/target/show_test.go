package target

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestAQuestionIsAnswered by y or yes; by anything else, and by the end of the input, it is not.
func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]fault.Exit{"y\n": fault.ExitOK, " YES \n": fault.ExitOK, "y": fault.ExitOK, "n\n": fault.ExitUsage, "\n": fault.ExitUsage, "": fault.ExitUsage} {
		if got := fault.ExitCode(Confirm(t.Context(), ui.Streams{In: strings.NewReader(in), Err: io.Discard}, "do it?")); got != want {
			t.Errorf("%q: exit code %d, want %d", in, got, want)
		}
	}
}

// TestNobodyAnswersAQuestion: what ends the command ends the wait too, as Ctrl-C at a terminal,
// where reading goes on.
func TestNobodyAnswersAQuestion(t *testing.T) {
	t.Parallel()
	silent, terminal := io.Pipe()
	defer terminal.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	if err := Confirm(ctx, ui.Streams{In: silent, Err: io.Discard}, "do it?"); !errors.Is(err, fault.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
}

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
