package source

import (
	"maps"
	"slices"

	"golang.org/x/text/language"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// Compare is what a language lacks of the messages, as its file has to have them, and the
// messages that it has and nobody names.
func Compare(found Found, all *words.Languages, tag language.Tag) (lacks map[string]any, vain []string) {
	has := map[string]words.Message{}
	if l := all.Find(tag.String()); l != nil {
		has = maps.Clone(l.Messages())
	}
	lacks = map[string]any{}
	for _, m := range found.Messages {
		if _, ok := has[m.English]; ok {
			delete(has, m.English)
			continue
		}
		if all.English().Messages()[m.English].Forms == nil {
			lacks[m.English] = ""
			continue
		}
		forms := map[string]string{}
		for _, form := range Forms(words.New(tag)) {
			forms[form] = ""
		}
		lacks[m.English] = forms
	}
	return lacks, slices.Sorted(maps.Keys(has))
}

// Forms are those that words have beside whole numbers in a language, "other" with them.
func Forms(l *words.Language) []string {
	forms := map[string]bool{"other": true}
	for n := range 1001 {
		forms[l.Form(n)] = true
	}
	forms[l.Form(1_000_000)] = true
	return slices.Sorted(maps.Keys(forms))
}
