package docs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Rule is one rule of the language of the pages.
type Rule struct {
	// Not is what is not to be written; it matches whole words in any case,
	// across the ends of lines.
	Not *regexp.Regexp
	// Instead says what to write.
	Instead string
	// Example is a text that breaks the rule.
	Example string
}

// Broken is a place where a page breaks a rule.
type Broken struct {
	Line int
	Text string
	Rule Rule
}

var quoted = regexp.MustCompile(`"([^"]+)"`)

// Glossary reads the rules of the glossary: a row's last cell has, in quotes,
// the words not to use for the term in the first.
func Glossary(glossary Page) ([]Rule, error) {
	var rules []Rule
	for _, line := range glossary.Lines {
		cells := strings.Split(strings.Trim(line.Text, "| "), "|")
		if line.Kind != Table || len(cells) != 3 {
			continue
		}
		for _, found := range quoted.FindAllStringSubmatch(cells[2], -1) {
			rule, err := newRule(regexp.QuoteMeta(found[1]), strings.Trim(cells[0], " *`"), found[1])
			if err != nil {
				return nil, err
			}
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return nil, errors.New("the glossary has no table of three columns with words in quotes")
	}
	return rules, nil
}

// Phrases reads rules from a text: on each line a regular expression, what to
// write instead, and an example, between two bars each.
func Phrases(text string) ([]Rule, error) {
	var rules []Rule
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " || ")
		if len(parts) != 3 {
			return nil, fmt.Errorf("phrase %q: want a pattern, what to write instead, and an example", line)
		}
		rule, err := newRule(parts[0], parts[1], parts[2])
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func newRule(pattern, instead, example string) (Rule, error) {
	not, err := regexp.Compile(`(?i)(^|[^\w-])(` + strings.ReplaceAll(pattern, " ", `\s+`) + `)([^\w-]|$)`)
	if err != nil {
		return Rule{}, fmt.Errorf("compiling rule %q: %w", pattern, err)
	}
	return Rule{Not: not, Instead: instead, Example: example}, nil
}

var (
	target    = regexp.MustCompile(`\]\([^)]*\)`)
	quotation = regexp.MustCompile(`"[^"\n]*"`)
)

// Check returns where the prose and the tables of the page break the rules.
// Code, between backquotes too, addresses, and what stands in quotes are left
// alone.
func (p Page) Check(rules []Rule) []Broken {
	patterns := make([]string, len(rules))
	for i, rule := range rules {
		patterns[i] = rule.Not.String()
	}
	anything := regexp.MustCompile(strings.Join(patterns, "|")) // most paragraphs break no rule
	var all []Broken
	for _, part := range p.paragraphs() {
		if !anything.MatchString(part.text) {
			continue
		}
		for _, rule := range rules {
			for _, at := range rule.Not.FindAllStringSubmatchIndex(part.text, -1) {
				all = append(all, Broken{Line: part.line + strings.Count(part.text[:at[4]], "\n"), Text: part.text[at[4]:at[5]], Rule: rule})
			}
		}
	}
	return all
}

type paragraph struct {
	line int
	text string
}

func (p Page) paragraphs() []paragraph {
	var all []paragraph
	open := false
	for _, line := range p.Lines {
		if line.Kind == Code || line.Kind == Generated || strings.TrimSpace(line.Text) == "" {
			open = false
			continue
		}
		text := quotation.ReplaceAllString(target.ReplaceAllString(inline.ReplaceAllString(line.Text, "``"), "]"), `""`)
		if open && line.Kind == Prose {
			all[len(all)-1].text += "\n" + text
			continue
		}
		all = append(all, paragraph{line: line.Number, text: text})
		open = line.Kind == Prose
	}
	return all
}
