package frame

import (
	"errors"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/printable"
)

// How many characters of a name and of a longer text are shown.
const (
	LongestName = 120
	longestText = 1500
)

// functions are those of the templates in a language. What comes from outside goes through
// name or text: they cut it, and show characters that would turn the direction of the line.
func functions(in *words.Language) template.FuncMap {
	cut := func(most int) func(any) string {
		return func(what any) string { return Cut(printable.Text(said(in, what)), most, in) }
	}
	name, text := cut(LongestName), cut(longestText)
	return template.FuncMap{
		"t": func(english string, args ...any) template.HTML {
			for i, arg := range args {
				switch arg.(type) {
				case string, words.Text:
					args[i] = text(arg)
				}
			}
			return in.HTML(english, args...)
		},
		"name": name, "text": text, "short": func(s string) string { return shortened(printable.Text(s)) },
		"moment": func(t time.Time) template.HTML { return moment(t, time.DateTime) },
		"clock":  func(t time.Time) template.HTML { return moment(t, time.TimeOnly) },
		"bytes":  func(n int64) string { return words.Bytes(n).In(in) },
		"took":   Took, "health": health, "word": word, "outcome": Outcome,
		"badge": func(h Health, word any) badge { return badge{h, word} },
		"level": func(n int) int { return min(n, 4) },
		"more":  func(n, most int) int { return max(0, n-most) },
	}
}

// mostInNode is how many characters a node of a drawing has room for.
const mostInNode = 20

// shortened is a name that fits into a node of a drawing. The list beside has all of it.
func shortened(s string) string {
	letters := []rune(s)
	if len(letters) <= mostInNode {
		return s
	}
	return string(letters[:mostInNode-1]) + "…"
}

// said is a text in a language; names are strings.
func said(in *words.Language, what any) string {
	switch w := what.(type) {
	case nil:
		return ""
	case words.Text:
		return w.In(in)
	}
	return fmt.Sprint(what)
}

// moment is a time as people read it, and as programs do.
func moment(t time.Time, layout string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + t.Local().Format(layout) + `</time>`) //nolint:gosec // a time has digits alone
}

// Cut shortens a text to most characters and says how many there are.
func Cut(s string, most int, in *words.Language) string {
	if len(s) <= most {
		return s
	}
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return string(letters[:most]) + words.T("… (%d characters)", len(letters)).In(in)
}

// Name is a name from outside within a sentence: a long one must not push the rest of it out.
func Name(s string) words.Text {
	letters := []rune(printable.Text(s))
	if len(letters) <= LongestName {
		return words.Said(string(letters))
	}
	return words.List("", words.Said(string(letters[:LongestName])), words.T("… (%d characters)", len(letters)))
}

// quoted are words as a shell reads them.
func quoted(words []string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	out := make([]string, len(words))
	for i, word := range words {
		if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
			out[i] = word
		} else {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// Took is a duration for people: 4s, 3m04s, 2h05m, 3d.
func Took(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// health is how a step or a run is.
func health(state any) Health {
	switch fmt.Sprint(state) {
	case string(event.Done), string(event.Skipped), "succeeded", string(Well):
		return Well
	case string(event.Started), string(event.Running), string(event.Waiting), string(Changing):
		return Changing
	case string(event.Failed), "interrupted", string(Broken):
		return Broken
	}
	return Unknown
}

// word is the state of a step for people.
func word(s event.State) words.Text {
	switch s {
	case event.Started, event.Running:
		return words.T("at work")
	case event.Waiting:
		return words.T("waits")
	case event.Skipped:
		return words.T("nothing to do")
	case event.Done:
		return words.T("done")
	case event.Failed:
		return words.T("failed")
	}
	return words.Said(string(s))
}

// Outcome is how a run has ended, for people.
func Outcome(of string) words.Text {
	switch of {
	case "running":
		return words.T("running")
	case "succeeded":
		return words.T("succeeded")
	case "failed":
		return words.T("failed")
	case "interrupted":
		return words.T("interrupted")
	case "events":
		return words.T("events")
	}
	return words.Said(of)
}

// badge is a health with its word, which is a text or a name.
type badge struct {
	Health Health
	Word   any
}

// Trouble is something that could not be read.
type Trouble struct {
	What, Why, Fix words.Text
	// Of is how old what is shown is; zero if nothing is.
	Of time.Time
	// Calm is set if it is no fault.
	Calm bool
}

// mostTroubles is how many causes of one reading have a banner each: a bundle without anything
// has dozens.
const mostTroubles = 4

// Troubles are what a reading of something says about itself.
func Troubles[T any](what words.Text, r Reading[T]) []Trouble {
	if r.Err == nil {
		return nil
	}
	var list []Trouble
	all := fault.All(r.Err)
	for i, one := range all {
		if i == mostTroubles && len(all) > mostTroubles+1 {
			return append(list, Trouble{What: what, Why: words.T("There are %d more causes.", len(all)-i), Of: r.At})
		}
		t := Trouble{what, words.Said(one.Error()), words.Said(fault.Remedy(one)), r.At, errors.As(one, new(NotYet))}
		var ours words.Says
		if errors.As(one, &ours) {
			t.Why = ours.Why()
			if fix := ours.Remedy(); fix != nil {
				t.Fix = fix
			}
		}
		list = append(list, t)
	}
	return list
}
