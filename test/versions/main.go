// Command versions writes docs/reference/versions.md: what goes together, by the rules of
// internal/component, and what the tests run with.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	check := flag.Bool("check", false, "compare the page instead of writing it")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	tested, err := readTested(root)
	if err != nil {
		return err
	}
	file, text := filepath.Join(root, "docs", "reference", "versions.md"), []byte(page(tested))
	if !check {
		return os.WriteFile(file, text, 0o644)
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	if !bytes.Equal(have, text) {
		return errors.New(file + " does not fit the code and the tests: run make versions-page")
	}
	return nil
}
