package main

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const head = `# Which test proves what

` + "`make proofs-page`" + ` writes this page from the comments ` + "`// proves:`" + ` in the tests, the Makefile, and
[proofs.json](proofs.json), which has the passes. ` + "`make verify`" + ` refuses a page that does not fit the
tests, and a test that no target of the Makefile runs.

Rows that say **by hand** are not run by CI: ` + "`make proofs`" + ` runs them. The last column says when the
command last passed, and at which commit; a dash means that no pass is recorded. To record a pass of
what CI runs: ` + "`go run ./test/proofs -only test,e2e`" + `.

## Commands

`

// claim is a function that proves a row.
type claim struct {
	function *function
	part     part
}

// claimed has the claims by row, and says which of them nothing runs.
func claimed(s *source, all []command) (map[string][]claim, []string) {
	runners := map[*function]part{}
	for _, f := range s.tests() {
		p, ok := runner(all, f, s.needs(f))
		if !ok {
			continue
		}
		for used := range s.reach(f) {
			if known, ok := runners[used]; !ok || order(p) < order(known) {
				runners[used] = p
			}
		}
	}
	rows, problems := map[string][]claim{}, []string(nil)
	for _, f := range s.functions {
		p, ok := runners[f]
		if !ok && len(f.claims) > 0 {
			problems = append(problems, fmt.Sprintf("%s: %s proves %s, but no test that runs comes there", f.file, f.name, strings.Join(f.claims, ", ")))
			continue
		}
		for _, id := range f.claims {
			if !slices.ContainsFunc(rows[id], func(c claim) bool { return c.function == f }) {
				rows[id] = append(rows[id], claim{f, p})
			}
		}
	}
	return rows, problems
}

func order(p part) int { return slices.Index(parts(), p) }

// page is the page of all claims.
func page(rows map[string][]claim, passes []pass) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| Command | What it runs | By | Last passed |\n|---|---|---|---|\n")
	for _, p := range parts() {
		fmt.Fprintf(&b, "| `make %s` | %s | %s | %s |\n", p.target, p.what, mark(p), last(passes, p.name))
	}
	b.WriteString("\n## Rows\n\n| Row | Test | Command | By | Last passed |\n|---|---|---|---|---|\n")
	for _, id := range slices.SortedFunc(maps.Keys(rows), byRow) {
		list := slices.Clone(rows[id])
		slices.SortStableFunc(list, func(a, b claim) int {
			return slices.Compare([]string{fmt.Sprint(order(a.part)), a.function.file, a.function.name}, []string{fmt.Sprint(order(b.part)), b.function.file, b.function.name})
		})
		for _, c := range list {
			fmt.Fprintf(&b, "| %s | [%s](../%s) in %s | `make %s` | %s | %s |\n", id, c.function.name, c.function.file, path.Dir(c.function.file), c.part.target, mark(c.part), last(passes, c.part.name))
		}
	}
	return b.String()
}

func mark(p part) string {
	if p.ci {
		return p.by()
	}
	return "**" + p.by() + "**"
}

var digits = regexp.MustCompile(`\d+`)

// byRow sorts F2 before F10.
func byRow(a, b string) int {
	if c := strings.Compare(digits.ReplaceAllString(a, ""), digits.ReplaceAllString(b, "")); c != 0 {
		return c
	}
	x, _ := strconv.Atoi(digits.FindString(a))
	y, _ := strconv.Atoi(digits.FindString(b))
	return x - y
}

// undated is a page without its last column, which changes with every pass.
func undated(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte("| ")) {
			cells := bytes.Split(line, []byte(" | "))
			lines[i] = bytes.Join(cells[:len(cells)-1], []byte(" | "))
		}
	}
	return bytes.Join(lines, []byte("\n"))
}
