// Package docs reads README.md and docs/, for the tests that hold the pages
// against the code: links, commands, targets of make, words.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Kind says what a line of a page is.
type Kind int

// The kinds of lines.
const (
	Prose Kind = iota
	Code       // in a fenced or an indented block
	Table
	Generated // between a comment "written by" and its end: another program writes it
)

// Line is one line of a page.
type Line struct {
	Number int // from 1
	Text   string
	Kind   Kind
}

// Page is one page.
type Page struct {
	// Path is relative to the root of the repository, with slashes.
	Path  string
	Lines []Line
}

// Reference reports whether the page is written from the code: its words are
// the program's.
func (p Page) Reference() bool { return strings.HasPrefix(p.Path, "docs/reference/") }

// Pages reads README.md and every page below docs of the repository at root.
func Pages(root string) ([]Page, error) {
	paths := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			path, err = filepath.Rel(root, path)
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pages: %w", err)
	}
	pages := make([]Page, 0, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, fmt.Errorf("reading a page: %w", err)
		}
		pages = append(pages, Page{Path: path, Lines: lines(string(text))})
	}
	return pages, nil
}

var generated = regexp.MustCompile(`^<!-- .*written by `)

// lines tells code, tables and prose apart, as far as the pages use Markdown:
// an indented block follows a blank line and has four spaces or more, in a
// list too.
func lines(text string) []Line {
	var all []Line
	fenced, machine, before := false, false, Line{}
	for i, text := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line := Line{Number: i + 1, Text: text}
		trimmed := strings.TrimSpace(text)
		switch fence := strings.HasPrefix(trimmed, "```"); {
		case fence, fenced:
			line.Kind = Code
			fenced = fenced != fence
		case generated.MatchString(text), machine:
			line.Kind = Generated
			machine = !strings.HasPrefix(text, "<!-- end ")
		case trimmed == "" && before.Kind == Code:
			line.Kind = Code
		case strings.HasPrefix(text, "    ") && (strings.TrimSpace(before.Text) == "" || before.Kind == Code):
			line.Kind = Code
		case strings.HasPrefix(trimmed, "|"):
			line.Kind = Table
		}
		all = append(all, line)
		before = line
	}
	return all
}
