// Command messages lists the messages of the consoles that a language lacks, as they are to be
// in its file, and those that it has in vain. It is run in the root of the repository:
//
//	go run ./test/messages fr
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/text/language"

	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/console/words/source"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "give a language, such as fr")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, name string) error {
	tag, err := language.Parse(name)
	if err != nil {
		return fmt.Errorf("%s is no language: %w", name, err)
	}
	all, err := words.Ours()
	if err != nil {
		return err
	}
	found, err := source.Read(".")
	if err != nil {
		return err
	}
	lacks, vain := source.Compare(found, all, tag)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(lacks); err != nil {
		return err
	}
	for _, one := range vain {
		fmt.Fprintf(out, "no page says %q\n", one)
	}
	fmt.Fprintf(os.Stderr, "%s lacks %d of %d messages\n", tag, len(lacks), len(found.Messages))
	return nil
}
