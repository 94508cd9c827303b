package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// choice is a flag that takes one of a few words.
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
		return fmt.Errorf("%q is none of %s", word, strings.Join(c.words, ", "))
	}
	*c.value = word
	return nil
}

func (c choice) Type() string { return strings.Join(c.words, "|") }

// FormatFlag adds -o; value holds the default and takes the choice.
func FormatFlag(flags *pflag.FlagSet, value *string) {
	flags.VarP(choice{value, Formats()}, "output", "o", "how to print data")
}

// ChoiceFlag adds a flag that takes one of a few words; value holds the default,
// which may be empty, and takes the choice.
func ChoiceFlag(flags *pflag.FlagSet, value *string, name string, words []string, usage string) {
	flags.Var(choice{value, words}, name, usage)
}

// ProgressFlag adds --progress; value holds the default and takes the choice.
func ProgressFlag(flags *pflag.FlagSet, value *string) {
	flags.Var(choice{value, Modes()}, "progress", "how to show progress; auto is tty on a terminal and plain elsewhere")
}
