package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"github.com/slipway-sh/slipway/internal/console/words"
)

const root = "../../../.."

// TestTextsAreMessages: no template says anything with letters that is no message, and each
// message is written out where it is named.
func TestTextsAreMessages(t *testing.T) {
	t.Parallel()
	found, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found.Loose {
		t.Error(one)
	}
	if len(found.Messages) < 400 {
		t.Errorf("only %d messages were found", len(found.Messages))
	}
}

// TestLanguagesAreWhole: each language has each message, and no other; its forms are those that
// the language has, with the same arguments and tags as English.
func TestLanguagesAreWhole(t *testing.T) {
	t.Parallel()
	found, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	all, err := words.Ours()
	if err != nil {
		t.Fatal(err)
	}
	english := map[string]Message{}
	for _, m := range found.Messages {
		english[m.English] = m
	}
	for _, l := range all.All() {
		t.Run(l.Tag.String(), func(t *testing.T) {
			t.Parallel()
			lacks, vain := Compare(found, all, l.Tag)
			if l != all.English() {
				for text := range lacks {
					t.Errorf("%q is missing, of %s", text, english[text].Where)
				}
			}
			for _, text := range vain {
				t.Errorf("no page says %q", text)
			}
			for text, m := range l.Messages() {
				for _, wrong := range faults(english[text], l, m, all.English().Messages()[text].Forms != nil) {
					t.Errorf("%q: %s", text, wrong)
				}
			}
		})
	}
	if all.Find("de") == nil {
		t.Error("there is no German")
	}
}

// faults are what is wrong with a message in a language.
func faults(named Message, l *words.Language, m words.Message, counted bool) (wrong []string) {
	texts := []string{m.Text}
	if m.Forms != nil {
		texts = nil
		for _, form := range Forms(l) {
			if m.Forms[form] == "" {
				wrong = append(wrong, "the form "+form+" is missing")
			}
		}
		for form, text := range m.Forms {
			if !slices.Contains(Forms(l), form) {
				wrong = append(wrong, "the language has no form "+form)
			}
			texts = append(texts, text)
		}
	} else if counted && len(Forms(l)) > 1 {
		wrong = append(wrong, "it has no forms")
	}
	tags, _ := Tags(named.English)
	for _, text := range texts {
		if text == "" {
			wrong = append(wrong, "a text is empty")
		}
		if !slices.Equal(Verbs(text), Verbs(named.English)) {
			wrong = append(wrong, "other arguments: "+text)
		}
		has, rest := Tags(text)
		if !slices.Equal(has, tags) {
			wrong = append(wrong, "other tags: "+text)
		}
		if strings.ContainsAny(rest, "<>&") || len(has) > 0 && !named.Markup {
			wrong = append(wrong, "it is no HTML of a message: "+text)
		}
	}
	return wrong
}

// TestWhatIsWrongIsFound in templates, Go code and languages.
func TestWhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, one := range Folders() {
		if err := os.MkdirAll(filepath.Join(folder, one), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"a.html": `{{define "a"}}<p class="x{{if .A}} y{{end}}" aria-label="Loose">{{t "Found %s" (name .B)}} · {{with .C}}Astray{{else}}{{template "b" (badge "well" "word")}}{{end}}</p>{{t .Unwritten}}<title>Slipway</title>{{end}}`,
		"a.go":   "package a\n\nvar a, b, c = words.T(\"One\"), words.T(other), T(\"nothing\")\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, Folders()[0], name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range found.Messages {
		named = append(named, m.English)
	}
	if !slices.Equal(named, []string{"Found %s", "One"}) || !found.Messages[0].Markup || found.Messages[1].Markup {
		t.Errorf("%+v", found.Messages)
	}
	loose := strings.Join(found.Loose, "\n")
	for _, want := range []string{`"Loose"`, `Astray"`, `"word"`, "t .Unwritten", "a.go:3"} {
		if !strings.Contains(loose, want) {
			t.Errorf("no %s in\n%s", want, loose)
		}
	}
	if len(found.Loose) != 5 {
		t.Errorf("%d are loose:\n%s", len(found.Loose), loose)
	}
	polish := words.New(language.Polish)
	for text, m := range map[string]words.Message{
		"other arguments": {Text: "%d"}, "other tags": {Text: "<b>%s</b>"}, "no HTML": {Text: "%s < 3"}, "is empty": {}, "no forms": {Text: "%s"}, "the form few": {Forms: map[string]string{"one": "%s", "many": "%s", "other": "%s"}},
		"no form two": {Forms: map[string]string{"one": "%s", "two": "%s", "few": "%s", "many": "%s", "other": "%s"}},
	} {
		if got := strings.Join(faults(Message{English: "%s", Markup: true}, polish, m, true), "\n"); !strings.Contains(got, text) {
			t.Errorf("no %q: %s", text, got)
		}
	}
}
