// Package words has what the consoles say, in each language. English is what templates and Go
// code name; the folder languages has a file for each other language, and one for English with
// what English does not say itself: the forms of words beside a number.
//
// Names, causes, and what commands, the cloud or controllers say are no texts of ours. They
// stay as they are: people search for them.
package words

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// Text is something that a page says, in the language of who reads it. nil says nothing.
type Text interface {
	// In is the text in a language.
	In(l *Language) string
	// String is the text in English, for logs.
	String() string
}

// T is a text of ours: English with the verbs of fmt for its arguments, which may be texts too.
// Languages know it by its English, so it must be written out where T is called; a test holds
// that.
func T(english string, args ...any) Text { return message{english, args} }

// Said is a text of somebody else, the same in each language; nil if it is empty.
func Said(text string) Text {
	if text == "" {
		return nil
	}
	return said(text)
}

// List is texts in a row; nil if there are none.
func List(separator string, all ...Text) Text {
	all = slices.DeleteFunc(slices.Clone(all), func(t Text) bool { return t == nil })
	if len(all) == 0 {
		return nil
	}
	return list{separator, all}
}

// English is a text in English, and empty for nil.
func English(t Text) string {
	if t == nil {
		return ""
	}
	return t.String()
}

type message struct {
	english string
	args    []any
}

// In implements Text.
func (m message) In(l *Language) string { return l.fill(m.english, m.args, l.plain) }

// String implements Text.
func (m message) String() string { return m.In(english()) }

type said string

// In implements Text.
func (s said) In(*Language) string { return string(s) }

// String implements Text.
func (s said) String() string { return string(s) }

type list struct {
	separator string
	all       []Text
}

// In implements Text.
func (l list) In(in *Language) string {
	parts := make([]string, len(l.all))
	for i, t := range l.all {
		parts[i] = t.In(in)
	}
	return strings.Join(parts, l.separator)
}

// String implements Text.
func (l list) String() string { return l.In(english()) }

// Bytes is a number of bytes for people: 310.0 MiB, with the decimal sign of the language.
type Bytes int64

// In implements Text.
func (b Bytes) In(l *Language) string {
	value, unit := float64(b), 0
	for value >= 1024 && unit < 4 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", int64(b))
	}
	return fmt.Sprintf("%s %ciB", l.decimal(value), " KMGT"[unit])
}

// String implements Text.
func (b Bytes) String() string { return b.In(english()) }

// Says is an error that has a text of ours.
type Says interface {
	error
	// Why is what happened, Remedy what to do; nil if nobody knows.
	Why() Text
	Remedy() Text
}

// plain is an argument as it is in a text.
func (l *Language) plain(arg any) any {
	if t, ok := arg.(Text); ok {
		return t.In(l)
	}
	return arg
}

// HTML is a message of a template. Messages may have tags, as they are part of the program;
// arguments are escaped, unless they are HTML of templates.
func (l *Language) HTML(english string, args ...any) template.HTML {
	return template.HTML(l.fill(english, args, l.escaped)) //nolint:gosec // see above
}

func (l *Language) escaped(arg any) any {
	switch a := arg.(type) {
	case template.HTML:
		return string(a)
	case int, int64:
		return a
	case Text:
		return template.HTMLEscapeString(a.In(l))
	}
	return template.HTMLEscapeString(fmt.Sprint(arg))
}
