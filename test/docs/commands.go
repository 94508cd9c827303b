package docs

import (
	"path"
	"regexp"
	"strings"
)

// Command is a command line that a page shows.
type Command struct {
	Line int
	// Words are the program's name and its arguments, without sudo, variables
	// before them, redirections, pipes and comments.
	Words []string
	// Whole is false for a command that prose mentions: its arguments may be
	// left out there.
	Whole bool
}

var variable = regexp.MustCompile(`^[A-Z_]+=`)

// Commands are the command lines of the page that run the program name, such
// as "slipway" or "make": those in code blocks, and those that prose mentions
// between backquotes.
func (p Page) Commands(name string) []Command {
	var all []Command
	for _, line := range p.Lines {
		texts, whole := []string{line.Text}, line.Kind == Code
		if !whole {
			texts = inline.FindAllString(line.Text, -1)
		}
		for _, text := range texts {
			for _, words := range split(strings.Trim(text, "`")) {
				for len(words) > 0 && (words[0] == "sudo" || variable.MatchString(words[0])) {
					words = words[1:]
				}
				if len(words) > 0 && path.Base(words[0]) == name && !strings.HasSuffix(words[0], "/cmd/"+name) && (whole || len(words) > 1) {
					all = append(all, Command{Line: line.Number, Words: append([]string{name}, withoutRedirections(words[1:])...), Whole: whole})
				}
			}
		}
	}
	return all
}

// split splits a line into simple commands and these into words, by the
// shell's rules as far as pages use them.
func split(line string) [][]string {
	commands, words := [][]string{}, []string{}
	var word strings.Builder
	quote, inWord := rune(0), false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			end()
		case r == '#' && !inWord:
			return append(commands, words)
		case r == '|' || r == ';' || r == '&':
			end()
			commands, words = append(commands, words), []string{}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	end()
	return append(commands, words)
}

// withoutRedirections leaves out what the shell takes for itself.
func withoutRedirections(words []string) []string {
	for i, word := range words {
		if word == "<" || strings.HasPrefix(word, ">") || strings.HasPrefix(word, "2>") {
			return words[:i]
		}
	}
	return words
}
