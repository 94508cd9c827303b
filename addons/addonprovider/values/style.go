package values

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// bestWidth is the column after which PyYAML breaks a line at a space.
const bestWidth = 80

const blanks = "\x00 \t\r\n\u0085\u2028\u2029"

var timestamp = regexp.MustCompile(`^\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)?$`)

// styled returns the text of a string in the style that PyYAML chooses for it, and whether that
// style is plain.
func styled(text string, column, indent int, key bool) (string, bool) {
	f := analyse(text)
	w := writer{column: column, indent: indent, split: !key}
	switch {
	case f.plain && isString(text):
		w.folded(text)
		return w.out.String(), true
	case f.single && !(key && f.multiline):
		w.single(text)
	default:
		w.double([]rune(text))
	}
	return w.out.String(), false
}

// isString reports whether a plain scalar of that text would be read as a string.
func isString(text string) bool {
	if text == "" || text == "=" || text == "<<" || timestamp.MatchString(text) {
		return false
	}
	_, ok := resolve(text).(string)
	return ok
}

// form is the set of styles that a string may have.
type form struct{ plain, single, multiline bool }

// analyse follows the rules of YAML 1.1 for which text may have which style.
func analyse(text string) form {
	f := form{plain: true, single: true}
	if text == "" {
		return f
	}
	if strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") {
		f.plain = false
	}
	runes := []rune(text)
	var previous rune
	for i, ch := range runes {
		followed := i+1 >= len(runes) || strings.ContainsRune(blanks, runes[i+1])
		preceded := i == 0 || strings.ContainsRune(blanks, previous)
		if indicator(ch, i == 0, preceded, followed) {
			f.plain = false
		}
		switch {
		case ch == '\n':
			f.multiline, f.plain = true, false
			if previous == ' ' { // a space before a break would be lost
				f.single = false
			}
		case ch == ' ' && previous == '\n' && i > 0: // as would one after it
			f.single, f.plain = false, false
		case ch < ' ' || ch > '~': // PyYAML escapes all but ASCII
			f.single, f.plain = false, false
		}
		previous = ch
	}
	if edge := string(runes[0]) + string(previous); strings.ContainsAny(edge, " \n") {
		f.plain = false
	}
	return f
}

// indicator reports whether a character has a meaning in a block scalar at that place.
func indicator(ch rune, first, preceded, followed bool) bool {
	if first {
		return strings.ContainsRune("#,[]{}&*!|>'\"%@`", ch) || strings.ContainsRune("?:-", ch) && followed
	}
	return ch == ':' && followed || ch == '#' && preceded
}

type writer struct {
	out    strings.Builder
	column int
	indent int
	split  bool
}

func (w *writer) write(text string) {
	w.out.WriteString(text)
	w.column += utf8.RuneCountInString(text)
}

func (w *writer) newline() {
	w.out.WriteString("\n" + strings.Repeat(" ", w.indent))
	w.column = w.indent
}

// folded writes a plain scalar: lines break at single spaces.
func (w *writer) folded(text string) {
	for text != "" {
		word, spaces := cutWord(text)
		w.write(text[:word])
		if spaces == 1 && w.column > bestWidth && w.split {
			w.newline()
		} else {
			w.write(text[word : word+spaces])
		}
		text = text[word+spaces:]
	}
}

// cutWord returns the length of the text up to the first space, and the number of spaces there.
func cutWord(text string) (word, spaces int) {
	word = strings.IndexByte(text, ' ')
	if word < 0 {
		return len(text), 0
	}
	rest := text[word:]
	return word, len(rest) - len(strings.TrimLeft(rest, " "))
}

func (w *writer) single(text string) {
	w.write("'")
	parts := breaks(text)
	for i, part := range parts {
		if part[0] == '\n' { // one more than there are, because one is folded
			w.out.WriteString(part)
			w.newline()
			continue
		}
		w.singleLine(part, i == 0, i == len(parts)-1)
	}
	w.write("'")
}

// singleLine writes one line within quotes. Spaces at the very beginning and
// end of the text are kept on their line.
func (w *writer) singleLine(line string, first, last bool) {
	rest := line
	for rest != "" {
		word, spaces := cutWord(rest)
		w.write(strings.ReplaceAll(rest[:word], "'", "''"))
		begin := first && len(rest) == len(line) && word == 0
		end := last && word+spaces == len(rest)
		if spaces == 1 && w.column > bestWidth && w.split && !begin && !end {
			w.newline()
		} else {
			w.write(rest[word : word+spaces])
		}
		rest = rest[word+spaces:]
	}
}

// breaks splits a text into lines and runs of line breaks.
func breaks(text string) []string {
	var parts []string
	for text != "" {
		end := strings.IndexByte(text, '\n')
		if end == 0 {
			end = len(text) - len(strings.TrimLeft(text, "\n"))
		}
		if end < 0 {
			end = len(text)
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return parts
}

// double writes a double-quoted scalar; long ones break at spaces with a
// backslash, as PyYAML's write_double_quoted does.
func (w *writer) double(text []rune) {
	w.write(`"`)
	start := 0
	for end := 0; end <= len(text); end++ {
		if end == len(text) || escaped(text[end]) {
			if start < end {
				w.write(string(text[start:end]))
				start = end
			}
			if end < len(text) {
				w.write(escape(text[end]))
				start = end + 1
			}
		}
		inside := end > 0 && end < len(text)-1
		if inside && (text[end] == ' ' || start >= end) && w.column+end-start > bestWidth && w.split {
			if start < end {
				w.write(string(text[start:end]))
				start = end
			}
			w.write(`\`)
			w.newline()
			if text[start] == ' ' {
				w.write(`\`)
			}
		}
	}
	w.write(`"`)
}

func escaped(ch rune) bool { return ch == '"' || ch == '\\' || ch < ' ' || ch > '~' }

func escape(ch rune) string {
	const short = "\x000\aa\bb\tt\nn\vv\ff\rr\x1be\"\"\\\\\u0085N\u00a0_\u2028L\u2029P"
	for runes := []rune(short); len(runes) > 0; runes = runes[2:] {
		if runes[0] == ch {
			return `\` + string(runes[1])
		}
	}
	switch {
	case ch <= 0xff:
		return fmt.Sprintf(`\x%02X`, ch)
	case ch <= 0xffff:
		return fmt.Sprintf(`\u%04X`, ch)
	}
	return fmt.Sprintf(`\U%08X`, ch)
}
