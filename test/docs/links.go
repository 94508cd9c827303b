package docs

import (
	"regexp"
	"strings"
	"unicode"
)

// Link is a relative link of a page.
type Link struct {
	Line   int
	Target string // as it is written
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline = regexp.MustCompile("`[^`]*`")
)

// Links are the page's links to files and headings of the repository.
func (p Page) Links() []Link {
	var all []Link
	for _, line := range p.Lines {
		if line.Kind == Code {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(inline.ReplaceAllString(line.Text, ""), -1) {
			if !strings.Contains(found[1], "://") {
				all = append(all, Link{Line: line.Number, Target: found[1]})
			}
		}
	}
	return all
}

// Anchors are the fragments by which the page's headings are reached, as
// GitHub and GitLab make them.
func (p Page) Anchors() map[string]bool {
	all := map[string]bool{}
	for _, line := range p.Lines {
		title, isHeading := strings.CutPrefix(strings.TrimLeft(line.Text, "#"), " ")
		if line.Kind == Code || !isHeading || !strings.HasPrefix(line.Text, "#") {
			continue
		}
		slug := slug(title)
		for n, base := 1, slug; all[slug]; n++ {
			slug = base + "-" + string(rune('0'+n))
		}
		all[slug] = true
	}
	return all
}

func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}
