package cli

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/test/docs"
)

// wrong says what the real commands have against a command line, without
// running it. Prose may leave arguments out.
func wrong(command docs.Command) string {
	words := command.Words[1:]
	cmd, rest, err := newRoot(ui.Streams{}).Find(words)
	if err != nil {
		return err.Error()
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	arguments := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(arguments) > 0 {
		return "there is no command " + cmd.CommandPath() + " " + arguments[0]
	}
	if command.Whole {
		if err := cmd.ValidateArgs(arguments); err != nil {
			return err.Error()
		}
	}
	return ""
}

// TestDocsShowRealCommands parses every command line of README.md and docs/.
func TestDocsShowRealCommands(t *testing.T) {
	t.Parallel()
	pages, err := docs.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range pages {
		if page.Reference() {
			continue // written from the commands
		}
		for _, command := range page.Commands("slipway") {
			seen++
			if wrong := wrong(command); wrong != "" {
				t.Errorf("%s:%d: %s: %s", page.Path, command.Line, strings.Join(command.Words, " "), wrong)
			}
		}
	}
	if seen < 100 {
		t.Errorf("found only %d command lines", seen)
	}
}

// TestDocsWithWrongCommands shows that what is wrong with a command is found.
func TestDocsWithWrongCommands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"slipway upp": "no command slipway upp", "slipway bundle buidl": "no command slipway bundle buidl",
		"slipway up --timeuot 3m": "unknown flag", "slipway up --timeout three": "invalid argument",
		"slipway cluster create": "accepts 1 arg", "slipway state adopt seed-data": "accepts 2 arg",
		"slipway ssh -- anything --at-all": "", "slipway up --yes": "",
	} {
		if got := wrong(docs.Command{Words: strings.Fields(line), Whole: true}); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
