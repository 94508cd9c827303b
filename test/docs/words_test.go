package docs

import (
	"os"
	"strings"
	"testing"
)

// rules are those of the glossary and of testdata/phrases.txt.
func rules(t *testing.T, pages []Page) []Rule {
	t.Helper()
	text, err := os.ReadFile("testdata/phrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Phrases(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if page.Path == "docs/glossary.md" {
			terms, err := Glossary(page)
			if err != nil {
				t.Fatal(err)
			}
			return append(all, terms...)
		}
	}
	t.Fatal("there is no docs/glossary.md")
	return nil
}

// TestWords holds the pages against the glossary and the list of phrases.
// Reference pages are written from the code and not held against them.
func TestWords(t *testing.T) {
	t.Parallel()
	all := pages(t)
	rules := rules(t, all)
	for _, page := range all {
		if page.Reference() {
			continue
		}
		for _, broken := range page.Check(rules) {
			t.Errorf("%s:%d: not %q; write: %s", page.Path, broken.Line, broken.Text, broken.Rule.Instead)
		}
	}
}

// TestEveryRuleFires gives each rule the text that breaks it: in a paragraph,
// over the end of a line, in a table; and not in code.
func TestEveryRuleFires(t *testing.T) {
	t.Parallel()
	for _, rule := range rules(t, pages(t)) {
		example := rule.Example
		for name, text := range map[string]string{
			"paragraph": "First.\n\n" + example + "\n",
			"lines":     "First.\n\nNow " + strings.ReplaceAll(example, " ", "\n") + "\n",
			"table":     "First.\n\n| " + example + " | x |\n",
		} {
			got := Page{Lines: lines(text)}.Check([]Rule{rule})
			if len(got) != 1 || got[0].Line < 3 {
				t.Errorf("%s of %q: rule %q found %d", name, example, rule.Not, len(got))
			}
		}
		for name, text := range map[string]string{
			"backquotes": "See `" + example + "` there.", "block": "First:\n\n    " + example, "fence": "```\n" + example + "\n```",
			"quotes": `The page says "` + example + `".`, "written": "<!-- x: written by y -->\n" + example + "\n<!-- end of x -->",
		} {
			if got := (Page{Lines: lines(text)}).Check([]Rule{rule}); len(got) != 0 {
				t.Errorf("%s of %q: rule %q found %d", name, example, rule.Not, len(got))
			}
		}
	}
}
