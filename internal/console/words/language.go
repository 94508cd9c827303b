package words

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	printer "golang.org/x/text/message"
	"golang.org/x/text/number"
)

// files are those of the folder languages: each has the name of its language and ".json".
//
//go:embed languages
var files embed.FS

// Language is a language that pages can be in.
type Language struct {
	// Tag is its name for programs, Name that for people, in the language itself.
	Tag  language.Tag
	Name string

	messages map[string]Message
	numbers  *printer.Printer
}

// Message is a text in a language: one text, or forms by the number that it has.
type Message struct {
	Text string
	// Forms are by the names that CLDR gives them: zero, one, two, few, many, other.
	Forms map[string]string
	// Number is which of the arguments chooses the form, from 1 on; 0 is the first number.
	Number int
}

// UnmarshalJSON reads a text, or an object with forms and, if need be, "number".
func (m *Message) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &m.Text) == nil {
		return nil
	}
	if err := json.Unmarshal(text, &m.Forms); err != nil {
		return errors.New("it is neither a text nor an object of texts")
	}
	if which, ok := m.Forms["number"]; ok {
		var err error
		if m.Number, err = strconv.Atoi(which); err != nil || m.Number < 1 {
			return errors.New(`"number" is not the place of an argument`)
		}
		delete(m.Forms, "number")
	}
	for form := range m.Forms {
		if !slices.Contains(forms(), form) {
			return fmt.Errorf("%q is no form of a word", form)
		}
	}
	if m.Forms["other"] == "" {
		return errors.New(`the form "other" is missing`)
	}
	return nil
}

// forms are the names of plural.Form in its order.
func forms() []string { return []string{"other", "zero", "one", "two", "few", "many"} }

// Form is the name of the form that a number takes in the language.
func (l *Language) Form(n int) string {
	return forms()[plural.Cardinal.MatchPlural(l.Tag, max(n, -n), 0, 0, 0, 0)]
}

// Messages are all that the language has, by their English.
func (l *Language) Messages() map[string]Message { return l.messages }

// english is English as it is without a file.
func english() *Language { return newLanguage(language.English, file{Name: "English"}) }

// New is a language without messages.
func New(tag language.Tag) *Language { return newLanguage(tag, file{}) }

func newLanguage(tag language.Tag, f file) *Language {
	return &Language{Tag: tag, Name: f.Name, messages: f.Messages, numbers: printer.NewPrinter(tag)}
}

// file is a file of the folder: the name of the language in itself, and its messages by their
// English.
type file struct {
	Name     string             `json:"name"`
	Messages map[string]Message `json:"messages"`
}

// decimal is a number with one digit after the decimal sign.
func (l *Language) decimal(value float64) string {
	return l.numbers.Sprint(number.Decimal(value, number.Scale(1), number.NoSeparator()))
}

// find is a message in the language for its arguments; English is the one that is asked for.
func (l *Language) find(english string, args []any) string {
	m, ok := l.messages[english]
	switch {
	case !ok:
		return english
	case m.Forms == nil:
		return m.Text
	}
	if form, ok := m.Forms[l.Form(m.counted(args))]; ok {
		return form
	}
	return m.Forms["other"]
}

// counted is the number that chooses the form.
func (m Message) counted(args []any) int {
	for i, arg := range args {
		if n, ok := arg.(int); ok && (m.Number == 0 || m.Number == i+1) {
			return n
		}
	}
	return 0
}

// fill puts arguments into a message.
func (l *Language) fill(english string, args []any, as func(any) any) string {
	text := l.find(english, args)
	if len(args) == 0 {
		return text
	}
	made := make([]any, len(args))
	for i, arg := range args {
		made[i] = as(arg)
	}
	return fmt.Sprintf(text, made...)
}

// Load reads the languages of a folder. English is the first one.
func Load(folder fs.FS) (*Languages, error) {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, fmt.Errorf("listing the languages: %w", err)
	}
	all := &Languages{list: []*Language{english()}}
	for _, name := range names {
		one, err := read(folder, name)
		if err != nil {
			return nil, fmt.Errorf("reading the language %s: %w", name, err)
		}
		if one.Tag == language.English {
			all.list[0] = one
		} else {
			all.list = append(all.list, one)
		}
	}
	tags := make([]language.Tag, len(all.list))
	for i, one := range all.list {
		tags[i] = one.Tag
	}
	all.matcher = language.NewMatcher(tags)
	return all, nil
}

func read(folder fs.FS, name string) (*Language, error) {
	tag, err := language.Parse(strings.TrimSuffix(path.Base(name), ".json"))
	if err != nil {
		return nil, fmt.Errorf("its name is no language tag: %w", err)
	}
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	var f file
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return nil, err
	}
	if f.Name == "" {
		return nil, errors.New("it has no name")
	}
	return newLanguage(tag, f), nil
}

// Ours are the languages of the program.
func Ours() (*Languages, error) {
	folder, err := fs.Sub(files, "languages")
	if err != nil {
		return nil, err
	}
	return Load(folder)
}
