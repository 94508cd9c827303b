package frame

import (
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// How many characters of a name and of a longer text are shown.
const (
	LongestName = 120
	longestText = 1500
)

// functions are those of the templates. What comes from outside goes through name or text:
// they cut it, and show characters that would turn the direction of the line.
func functions() template.FuncMap {
	return template.FuncMap{
		"name":  func(s string) string { return Cut(Visible(s), LongestName) },
		"text":  func(s string) string { return Cut(Visible(s), longestText) },
		"clock": func(t time.Time) string { return clock(t, time.TimeOnly) },
		"day":   func(t time.Time) string { return clock(t, "2006-01-02 15:04:05") },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"took":  Took, "size": Size, "health": health, "word": word,
		"badge": func(h Health, word string) badge { return badge{h, word} },
		"level": func(n int) int { return min(n, 4) },
		"more":  func(n, most int) int { return max(0, n-most) },
	}
}

func clock(t time.Time, layout string) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format(layout)
}

// Visible writes control characters and those that turn the direction of text as their code
// points, so that a name looks like what it is.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Cut shortens a text to most characters and says how many there are.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return string(letters[:most]) + fmt.Sprintf("… (%d characters)", len(letters))
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

// Size is a number of bytes for people: 310.0 MiB.
func Size(n int64) string {
	value, unit := float64(n), 0
	for value >= 1024 && unit < 4 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return fmt.Sprintf("%.1f %ciB", value, " KMGT"[unit])
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
func word(s event.State) string {
	switch s {
	case event.Started, event.Running:
		return "at work"
	case event.Waiting:
		return "waits"
	case event.Skipped:
		return "nothing to do"
	}
	return string(s)
}

// badge is a health with its word.
type badge struct {
	Health Health
	Word   string
}

// Trouble is something that could not be read.
type Trouble struct {
	What, Why, Fix string
	// Of is how old what is shown is; zero if nothing is.
	Of time.Time
	// Calm is set if it is no fault.
	Calm bool
}

// mostTroubles is how many causes of one reading have a banner each: a bundle without anything
// has dozens.
const mostTroubles = 4

// Troubles are what a reading of something says about itself.
func Troubles[T any](what string, r Reading[T]) []Trouble {
	if r.Err == nil {
		return nil
	}
	var list []Trouble
	all := fault.All(r.Err)
	for i, one := range all {
		if i == mostTroubles && len(all) > mostTroubles+1 {
			return append(list, Trouble{What: what, Why: fmt.Sprintf("There are %d more causes.", len(all)-i), Of: r.At})
		}
		list = append(list, Trouble{what, one.Error(), fault.Remedy(one), r.At, errors.As(one, new(NotYet))})
	}
	return list
}
