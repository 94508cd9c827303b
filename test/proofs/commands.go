package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// command is a `go test` of a target of the Makefile.
type command struct {
	part part
	// variables are those of the environment that it sets.
	variables []string
	// packages are patterns such as ./... and ./addons/janitor.
	packages  []string
	tags      []string
	run, skip *regexp.Regexp
}

// commands asks make what it would do for each part. The lists of packages that
// the Makefile asks this program for are given to make.
func commands(ctx context.Context, root string, s *source) ([]command, error) {
	var all []command
	lists := []string{"REAL=" + strings.Join(packages(s.real(realVariables(), realFolders())), " "), "GUARDED=" + strings.Join(packages(s.needing("SLIPWAY_PROOFS")), " ")}
	for _, p := range parts() {
		cmd := exec.CommandContext(ctx, "make", append(lists, "--no-print-directory", "-n", p.target)...)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("asking make what %s does: %w", p.target, err)
		}
		found, err := parseCommands(string(text), p)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// parseCommands finds the `go test` in lines of a shell.
func parseCommands(text string, p part) ([]command, error) {
	var all []command
	text = strings.NewReplacer("\\\n", " ", "&&", "\n", "||", "\n", ";", "\n").Replace(text)
	for line := range strings.Lines(text) {
		c := command{part: p}
		words := fields(line)
		at := slices.Index(words, "go")
		if at < 0 || at+1 >= len(words) || words[at+1] != "test" {
			continue
		}
		for _, word := range words[:at] {
			if name, value, ok := strings.Cut(word, "="); ok && value != "" {
				c.variables = append(c.variables, name)
			}
		}
		if err := c.flags(words[at+2:]); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", p.target, strings.TrimSpace(line), err)
		}
		all = append(all, c)
	}
	return all, nil
}

// flags reads the arguments of go test.
func (c *command) flags(words []string) (err error) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if !strings.HasPrefix(word, "-") {
			c.packages = append(c.packages, word)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch name {
		case "v", "short", "race", "failfast": // flags without a value
			continue
		}
		if !given {
			if i++; i == len(words) {
				return fmt.Errorf("-%s has no value", name)
			}
			value = words[i]
		}
		switch name {
		case "run":
			c.run, err = regexp.Compile(value)
		case "skip":
			c.skip, err = regexp.Compile(value)
		case "tags":
			c.tags = strings.Split(value, ",")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fields are the words of a line, quotes taken off.
func fields(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	inside := false
	for _, r := range line + "\n" {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inside = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if inside {
				words = append(words, word.String())
				word.Reset()
			}
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	return words
}

// runs says that a command runs a test, rather than skipping it.
func (c command) runs(f *function, needs []string) bool {
	in := slices.ContainsFunc(c.packages, func(pattern string) bool {
		folder, below := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "...")
		return below && strings.HasPrefix(f.dir+"/", folder) || folder == f.dir
	})
	missing := slices.ContainsFunc(needs, func(name string) bool { return !slices.Contains(c.variables, name) })
	return in && !missing && c.compiles(f) && (c.run == nil || c.run.MatchString(f.name)) && (c.skip == nil || !c.skip.MatchString(f.name))
}

// compiles says that the file of a test is compiled: CI has Linux, as who runs parts by hand.
func (c command) compiles(f *function) bool {
	return f.built == nil || f.built.Eval(func(tag string) bool {
		return slices.Contains([]string{"linux", "unix", "gc", runtime.GOARCH}, tag) || strings.HasPrefix(tag, "go1.") || slices.Contains(c.tags, tag)
	})
}

// runner is the first part that runs a test.
func runner(all []command, f *function, needs []string) (part, bool) {
	i := slices.IndexFunc(all, func(c command) bool { return c.runs(f, needs) })
	if i < 0 {
		return part{}, false
	}
	return all[i].part, true
}

// nowhere says of each test that no target runs what it needs. Benchmarks are
// asked for by who measures.
func nowhere(s *source, all []command) []string {
	var problems []string
	for _, f := range s.tests() {
		if strings.HasPrefix(f.name, "Benchmark") {
			continue
		}
		needs := s.needs(f)
		if _, ok := runner(all, f, needs); !ok {
			if f.built != nil {
				needs = append(needs, "-tags for "+f.built.String())
			}
			problems = append(problems, fmt.Sprintf("%s: no target of the Makefile runs %s with %s", f.file, f.name, strings.Join(needs, " and ")))
		}
	}
	return problems
}
