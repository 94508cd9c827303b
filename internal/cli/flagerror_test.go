package cli

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/ui"
)

// TestFlagErrorsNameNoParser of Go's library; those of flags that say it themselves stay.
func TestFlagErrorsNameNoParser(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		"--count=x":                    `--count: "x" is not a number`,
		"--count=":                     `--count: "" is not a number`,
		"--count=99999999999999999999": `--count: "99999999999999999999" is out of range`,
		"--yes=perhaps":                `--yes: "perhaps" is neither true nor false`,
		"--wait=5":                     `--wait: "5" is not a duration, such as 90s, 5m or 1h30m`,
		"--of=c":                       `invalid argument "c" for "--of" flag: "c" is not one of a, b`,
		"--other":                      "unknown flag: --other",
	} {
		flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
		flags.Int("count", 0, "")
		flags.Bool("yes", false, "")
		flags.Duration("wait", 0, "")
		var of string
		ui.ChoiceFlag(flags, &of, "of", []string{"a", "b"}, "")
		if err := flags.Parse([]string{argument}); err == nil || flagError(err).Error() != want {
			t.Errorf("%s: %v", argument, flagError(err))
		}
	}
}
