package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// choice is a flag with a fixed set of values.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("%q is not one of %s", word, strings.Join(c.words, ", "))
	}
	*c.value = word
	return nil
}

func (c choice) Type() string { return strings.Join(c.words, "|") }

// FormatFlag adds -o; value holds the default and receives the choice.
func FormatFlag(flags *pflag.FlagSet, value *string) {
	flags.VarP(choice{value, Formats()}, "output", "o", "output format")
}

// ChoiceFlag adds a flag with a fixed set of values; value holds the default, which
// may be empty, and receives the choice.
func ChoiceFlag(flags *pflag.FlagSet, value *string, name string, words []string, usage string) {
	flags.Var(choice{value, words}, name, usage)
}

// ProgressFlag adds --progress; value holds the default and receives the choice.
func ProgressFlag(flags *pflag.FlagSet, value *string) {
	flags.Var(choice{value, Modes()}, "progress", "how to show progress; auto means tty on a terminal and plain elsewhere")
}
