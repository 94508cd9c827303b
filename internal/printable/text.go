// Package printable shows text of others as what it is. Names, descriptions, messages and logs
// come from tenants, clouds and machines; on a terminal some characters of theirs are commands,
// which move the cursor, rewrite what stands there, or answer in the user's place
// (CVE-2021-25743 is kubectl's case).
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden is a character that is a command to a terminal, that nobody sees, or that turns the
// direction of the text around it.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// Text returns text whose hidden characters are written as their code points, such as ⟨U+001B⟩.
// Ends of lines and tabs stay.
func Text(s string) string { return shown(s, "\n\t") }

// Line returns text as Text does, in one line and without tabs: a cell of a table.
func Line(s string) string { return shown(s, "") }

func shown(s, but string) string {
	plain := func(r rune) bool {
		return r != utf8.RuneError && (!hidden(r) || strings.ContainsRune(but, r))
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if plain(r) || r == utf8.RuneError {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}
