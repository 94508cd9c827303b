package printable

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	t.Parallel()
	for give, want := range map[string][2]string{
		"plain":                  {"plain", "plain"},
		"größe 世界 🚀":             {"größe 世界 🚀", "größe 世界 🚀"},
		"two\n\tlines":           {"two\n\tlines", "two⟨U+000A⟩⟨U+0009⟩lines"},
		"\x1b]0;title\a":         {"⟨U+001B⟩]0;title⟨U+0007⟩", "⟨U+001B⟩]0;title⟨U+0007⟩"},
		"all is well\rno":        {"all is well⟨U+000D⟩no", "all is well⟨U+000D⟩no"},
		"\u009b2J":               {"⟨U+009B⟩2J", "⟨U+009B⟩2J"},
		"a\u202ecba":             {"a⟨U+202E⟩cba", "a⟨U+202E⟩cba"},
		"zero\u200bwidth\x7f":    {"zero⟨U+200B⟩width⟨U+007F⟩", "zero⟨U+200B⟩width⟨U+007F⟩"},
		"no UTF-8 \xff\xfe \x9b": {"no UTF-8 \uFFFD \uFFFD", "no UTF-8 \uFFFD \uFFFD"},
		"its own \uFFFD":         {"its own \uFFFD", "its own \uFFFD"},
	} {
		if got := [2]string{Text(give), Line(give)}; got != want {
			t.Errorf("%q: %q, want %q", give, got, want)
		}
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{
		"plain\n":                               "plain\n",
		"[\x1b[0;32m  OK  \x1b[0m] Started\r\n": "[  OK  ] Started\n",
		"\r\r\n":                                "\n",
		"\x1b[2J\x1b[1;1Hgone":                  "⟨U+001B⟩[2J⟨U+001B⟩[1;1Hgone",
		"answer \x1b[5n, \x1bc":                 "answer ⟨U+001B⟩[5n, ⟨U+001B⟩c",
		"over\rwritten":                         "over⟨U+000D⟩written",
		"größe 🚀.":                              "größe 🚀.",
	} {
		for size := 1; size <= len(give); size++ {
			var out bytes.Buffer
			s := NewScreen(&out)
			for i := 0; i < len(give); i += size {
				piece := []byte(give)[i:min(i+size, len(give))]
				if n, err := s.Write(piece); n != len(piece) || err != nil {
					t.Fatalf("wrote %d of %d, %v", n, len(piece), err)
				}
				if n, err := s.Write(nil); n != 0 || err != nil { // which completes nothing
					t.Fatalf("wrote %d of nothing, %v", n, err)
				}
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", give, size, out.String(), want)
			}
		}
	}
}

func TestRawGoesAround(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if Raw(NewScreen(&out)) != io.Writer(&out) || Raw(&out) != io.Writer(&out) {
		t.Error("Raw is not what is behind the screen")
	}
}

func TestATerminalThatIsGone(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	gone := errors.New("gone")
	r.CloseWithError(gone)
	if n, err := NewScreen(w).Write([]byte("x")); n != 0 || !errors.Is(err, gone) {
		t.Errorf("%d, %v", n, err)
	}
}

// Whatever is written, in whatever pieces, the terminal gets no command.
func FuzzScreen(f *testing.F) {
	for _, seed := range []string{"\x1b[31mred", "\x1b[\x1b[m2J", "\r\x1b\r\n", "\xc2\x9b2J", "\x1b[0\x1b[0mm"} {
		f.Add([]byte(seed), byte(2))
	}
	f.Fuzz(func(t *testing.T, give []byte, size byte) {
		var out bytes.Buffer
		s := NewScreen(&out)
		for piece := range slices.Chunk(give, 1+int(size)) {
			if _, err := s.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if !utf8.Valid(out.Bytes()) {
			t.Fatalf("%q is no text", out.String())
		}
		for _, r := range out.String() {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q has a command", out.String())
			}
		}
	})
}
