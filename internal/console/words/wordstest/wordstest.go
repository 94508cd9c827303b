// Package wordstest has a language without letters: what has letters on a page in it is data,
// or a text that is in no catalog.
package wordstest

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"golang.org/x/net/html"

	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/console/words/source"
)

// kept are what a message without letters still has: its tags and the places of its arguments.
var kept = regexp.MustCompile(`</?[a-z0-9]+>|%(?:\[\d+\])?[a-z]`)

// Silent are languages of which English has no letters. root is that of the repository.
func Silent(t testing.TB, root string) *words.Languages {
	t.Helper()
	found, err := source.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	messages := map[string]string{}
	for _, m := range found.Messages {
		messages[m.English] = "~" + strings.Join(kept.FindAllString(m.English, -1), "~") + "~"
	}
	text, err := json.Marshal(map[string]any{"name": "~", "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	all, err := words.Load(fstest.MapFS{"en.json": &fstest.MapFile{Data: text}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// measures are durations, sizes and numbers of characters, whose units have letters in each
// language, and times.
var measures = regexp.MustCompile(`\b\d+(?:\.\d)?(?:d|h\d\dm|m\d\ds|s| B| [KMGT]iB)\b`)

// Letters are the texts of a page that have letters and are not of data. Commands are data.
func Letters(page string, data []string) (all []string) {
	data = slices.SortedFunc(slices.Values(data), func(a, b string) int { return len(b) - len(a) })
	known := map[string]bool{"": true}
	for _, one := range data {
		known[one] = true
	}
	page = strings.NewReplacer("<noscript>", "", "</noscript>", "").Replace(page)
	tokens := html.NewTokenizer(strings.NewReader(page))
	command, script := false, false
	note := func(text string) {
		if text = strings.TrimSpace(text); known[text] || !strings.ContainsFunc(text, unicode.IsLetter) {
			return
		}
		rest := measures.ReplaceAllString(text, "")
		for _, one := range data {
			if len(one) > 3 {
				rest = strings.ReplaceAll(rest, one, "")
			}
		}
		for part := range strings.SplitSeq(strings.ReplaceAll(rest, "Slipway", ""), "~") { // arguments are between what has no letters
			if !known[strings.TrimSpace(part)] && strings.ContainsFunc(part, unicode.IsLetter) {
				all = append(all, text)
				return
			}
		}
	}
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return all
		case html.TextToken:
			if !command && !script {
				note(string(tokens.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := tokens.Token()
			script = tag.Data == "script"
			for _, a := range tag.Attr {
				switch a.Key {
				case "class":
					command = command || tag.Data == "p" && a.Val == "command"
				case "aria-label", "data-ended", "placeholder", "alt":
					note(a.Val)
				}
			}
		case html.EndTagToken:
			script = false
			if tokens.Token().Data == "p" {
				command = false
			}
		}
	}
}

// Strings are all texts of a value, however deep.
func Strings(of any) []string {
	found := map[string]bool{}
	collect(reflect.ValueOf(of), found)
	return slices.Collect(maps.Keys(found))
}

func collect(v reflect.Value, found map[string]bool) {
	switch v.Kind() {
	case reflect.String:
		if text := strings.TrimSpace(v.String()); text != "" {
			found[text] = true
		}
	case reflect.Struct:
		for i := range v.NumField() {
			collect(v.Field(i), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), found)
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			collect(at.Key(), found)
			collect(at.Value(), found)
		}
	case reflect.Interface:
		if text, ok := said(v); ok {
			found[text] = true
		}
	}
}

// said is a text that is none of ours.
func said(v reflect.Value) (string, bool) {
	if v.IsNil() || !v.CanInterface() {
		return "", false
	}
	text, ok := v.Interface().(words.Text)
	if !ok || v.Elem().Kind() != reflect.String {
		return "", false
	}
	return text.String(), true
}
