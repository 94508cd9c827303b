package source

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// attributes are those that people read or hear.
func attributes() []string {
	return []string{"aria-label", "title", "alt", "placeholder", "data-ended"}
}

// ours are texts that are the same in each language.
func ours() []string { return []string{"Slipway", "sha256:"} }

// texts are what a page says by itself, with letters.
func texts(page string) (all []string) {
	page = strings.NewReplacer("<noscript>", "<div>", "</noscript>", "</div>").Replace(page) // a reader without scripts sees inside
	if strings.HasPrefix(strings.TrimSpace(page), "aria-") {                                 // attributes of another template's tag
		page = "<input " + page + ">"
	}
	tokens := html.NewTokenizer(strings.NewReader(page))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return all
		case html.TextToken:
			all = append(all, letters(string(tokens.Text()))...)
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, a := range tokens.Token().Attr {
				if slices.Contains(attributes(), a.Key) {
					all = append(all, letters(a.Val)...)
				}
			}
		}
	}
}

// letters is a text if it has letters that are not ours.
func letters(text string) []string {
	text = strings.TrimSpace(text)
	rest := text
	for _, one := range ours() {
		rest = strings.ReplaceAll(rest, one, "")
	}
	if !strings.ContainsFunc(rest, unicode.IsLetter) {
		return nil
	}
	return []string{text}
}
