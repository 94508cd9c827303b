package tenant

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// field is one input of a form. Its name is that of the member in the Magnum API.
type field struct {
	Name, Value string
	Label, Hint words.Text
	// Kind is "text", "number", "select", "area" or "hidden".
	Kind     string
	Options  []option
	Required bool
	// Least is the smallest number.
	Least int
	// Error is what is wrong with the value.
	Error words.Text
}

// option is a choice of a field.
type option struct {
	Value string
	Text  words.Text
}

// form is a page on which something is changed.
type form struct {
	Title, Intro, Button words.Text
	// Danger marks what cannot be taken back; Loss says what will be lost or replaced.
	Danger    bool
	LossTitle words.Text
	Loss      []words.Text
	Fields    []field
	// Back is the page that it came from.
	Back string
	// Cost is what it takes of the quota, in sentences; Over says that there is not so much.
	Cost []words.Text
	Over bool
	// Error is what is wrong with all of it, Restored says that it was typed before the
	// session ended.
	Error    words.Text
	Restored bool

	trouble []frame.Trouble
	// offered is what the choices are from; nil if nothing is to be chosen.
	offered *choices
	// missing is the status of what the form is about, if it is not there.
	missing int
}

// get is a field by its name; nil if there is none.
func (f *form) get(name string) *field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// value is what a field has.
func (f *form) value(name string) string {
	if one := f.get(name); one != nil {
		return one.Value
	}
	return ""
}

// fill puts what was typed into the fields. A choice that is not offered stays, so that
// nothing is lost.
func (f *form) fill(typed url.Values) {
	for i := range f.Fields {
		one := &f.Fields[i]
		if !typed.Has(one.Name) {
			continue
		}
		one.Value = strings.ReplaceAll(typed.Get(one.Name), "\r\n", "\n")
		if one.Kind != "area" {
			one.Value = strings.TrimSpace(one.Value)
		}
		if one.Kind == "select" && one.Value != "" && !slices.ContainsFunc(one.Options, func(o option) bool { return o.Value == one.Value }) {
			one.Options = append(one.Options, option{one.Value, words.Said(one.Value)})
		}
	}
}

// check says what is wrong with each field by itself.
func (f *form) check() bool {
	good := true
	for i := range f.Fields {
		one := &f.Fields[i]
		switch {
		case one.Required && strings.TrimSpace(one.Value) == "":
			one.Error = words.T("This is missing.")
		case one.Kind == "number" && one.Value != "":
			if n, err := strconv.Atoi(one.Value); err != nil {
				one.Error = words.T("This is not a whole number.")
			} else if n < one.Least {
				one.Error = words.T("This must be at least %d.", one.Least)
			}
		}
		good = good && one.Error == nil
	}
	return good
}

// wrong notes a mistake at a field.
func (f *form) wrong(name string, what words.Text) {
	if one := f.get(name); one != nil && one.Error == nil {
		one.Error = what
	} else if one == nil {
		f.Error = what
	}
}

// Wrong are the fields with a mistake.
func (f *form) Wrong() []field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(one field) bool { return one.Error == nil })
}

// number is a field's number, nil if it is empty. check has seen it.
func (f *form) number(name string) *int {
	n, err := strconv.Atoi(f.value(name))
	if err != nil {
		return nil
	}
	return &n
}

var attribute = regexp.MustCompile(`attribute ([a-z_]+)`)

// nouns are how the Magnum API speaks of what a field names.
func nouns() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"keypair": regexp.MustCompile(`(?i)\bkey ?pair\b`), "fixed_network": regexp.MustCompile(`(?i)\bnetwork\b`), "fixed_subnet": regexp.MustCompile(`(?i)\bsubnet\b`),
		"cluster_template_id": regexp.MustCompile(`(?i)\bcluster ?template\b|\bimage\b`), "labels": regexp.MustCompile(`(?i)\blabel\b`),
	}
}

// place puts what the Magnum API says at the field that it means, else above the form.
func (f *form) place(p problem) {
	said := words.English(p.Detail)
	if match := attribute.FindStringSubmatch(said); match != nil && f.get(match[1]) != nil {
		f.wrong(match[1], p.Detail)
		return
	}
	for _, one := range f.Fields {
		if strings.Contains(one.Name, "_") && regexp.MustCompile(`\b`+one.Name+`\b`).MatchString(said) { // "name" is a word of sentences
			f.wrong(one.Name, p.Detail)
			return
		}
	}
	if strings.Contains(strings.ToLower(said), "flavor") {
		for _, name := range []string{"flavor_id", "master_flavor_id"} {
			if value := f.value(name); value != "" && strings.Contains(said, value) {
				f.wrong(name, p.Detail)
				return
			}
		}
	}
	known := nouns()
	for _, one := range f.Fields {
		if noun := known[one.Name]; noun != nil && one.Value != "" && noun.MatchString(said) && p.Status != http.StatusConflict {
			f.wrong(one.Name, p.Detail)
			return
		}
	}
	f.Error = p.Detail
	if p.Fix != nil {
		f.Error = words.T("%s Fix: %s.", p.Detail, p.Fix)
	}
}
