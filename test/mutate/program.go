package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
)

// Functions of a changed package: whether a change is made, and comparisons that are nearly others.
const (
	switched = "mutantIsOn"
	dropped  = "mutantDrops"
)

var compared = map[token.Token]string{token.LSS: "mutantLess", token.LEQ: "mutantAtMost", token.GTR: "mutantMore", token.GEQ: "mutantAtLeast"}

// Which change is made, and the file that gets the numbers of those that a test reaches.
const (
	onVariable      = "SLIPWAY_MUTANT"
	reachedVariable = "SLIPWAY_MUTANTS_REACHED"
)

// switches is a file of a changed package. Nothing is locked: a change that is reached twice at
// once may be written twice.
const switches = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("` + onVariable + `"))

var mutantsReached, mutantsFile = func() (*[%d]atomic.Bool, *os.File) {
	name := os.Getenv("` + reachedVariable + `")
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return new([%[2]d]atomic.Bool), file
}()

func mutantIsOn(id int) bool {
	if mutantsReached != nil && !mutantsReached[id].Load() {
		if _, err := mutantsFile.WriteString(strconv.Itoa(id) + "\n"); err != nil {
			panic(err)
		}
		mutantsReached[id].Store(true)
	}
	return id == mutantOn
}

func mutantDrops[T any](id int, v T) T {
	if mutantIsOn(id) {
		var none T
		return none
	}
	return v
}

func mutantLess[T cmp.Ordered](id int, a, b T) bool { return a < b || mutantIsOn(id) && a == b }

func mutantMore[T cmp.Ordered](id int, a, b T) bool { return a > b || mutantIsOn(id) && a == b }

func mutantAtMost[T cmp.Ordered](id int, a, b T) bool { return a < b || !mutantIsOn(id) && a == b }

func mutantAtLeast[T cmp.Ordered](id int, a, b T) bool { return a > b || !mutantIsOn(id) && a == b }
`

// program is a test program of a package, in which one package has all its changes.
type program struct {
	file, dir string
}

// compile makes the test program of the package dir, with changes in the package of changed. What
// the compiler refuses is left out, and returned: a type of one's own for truth, say.
func compile(ctx context.Context, dir, changed string, all []mutation, work string) (program, []mutation, error) {
	refused := map[string]bool{}
	for {
		var left, out []mutation
		for _, m := range all {
			if refused[place(m.file, m.line)] {
				out = append(out, m)
			} else {
				left = append(left, m)
			}
		}
		p := program{file: filepath.Join(work, "test"), dir: dir}
		text, err := p.build(ctx, changed, left, len(all), work)
		if err == nil {
			return p, out, nil
		}
		more := false
		for _, found := range compilersWord.FindAllSubmatch(text, -1) {
			line, _ := strconv.Atoi(string(found[2]))
			at := place(string(found[1]), line)
			if !refused[at] && slices.ContainsFunc(left, func(m mutation) bool { return place(m.file, m.line) == at }) {
				refused[at], more = true, true
			}
		}
		if !more || ctx.Err() != nil {
			return p, out, fmt.Errorf("compiling the tests of %s: %w\n%s", dir, errors.Join(err, ctx.Err()), text)
		}
	}
}

var compilersWord = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// place is a line of a package's file. A package's files have different names.
func place(file string, line int) string { return fmt.Sprintf("%s:%d", filepath.Base(file), line) }

func (p program) build(ctx context.Context, changed string, all []mutation, most int, work string) ([]byte, error) {
	replaced := map[string]string{}
	put := func(file string, text []byte) error {
		original, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		replaced[original] = filepath.Join(work, filepath.Base(file))
		return os.WriteFile(replaced[original], text, 0o600)
	}
	name := ""
	for len(all) > 0 {
		file := all[0].file
		end := slices.IndexFunc(all, func(m mutation) bool { return m.file != file })
		if end < 0 {
			end = len(all)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if name == "" {
			name = string(packageClause.FindSubmatch(text)[1])
		}
		if err := put(file, apply(text, all[:end])); err != nil {
			return nil, err
		}
		all = all[end:]
	}
	if err := put(filepath.Join(changed, "mutants_of_this_package.go"), fmt.Appendf(nil, switches, name, most+1)); err != nil {
		return nil, err
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o", p.file, "./"+p.dir).CombinedOutput()
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)

// tests are the names of the program's tests.
func (p program) tests(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, p.file, "-test.list", "^(Test|Fuzz|Example)")
	cmd.Dir = p.dir
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", p.dir, err)
	}
	return slices.DeleteFunc(regexp.MustCompile(`\n`).Split(string(text), -1), func(s string) bool { return s == "" }), nil
}

// run says whether all tests of those that the expression names pass, and what they print. What
// tests that were stopped leave in their temporary folder is removed.
func (p program) run(ctx context.Context, expression string, environment ...string) (passed bool, text []byte, err error) {
	temporary, err := os.MkdirTemp("", "m-")
	if err != nil {
		return false, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	cmd := exec.CommandContext(ctx, p.file, "-test.failfast", "-test.run", expression)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), append(environment, "TMPDIR="+temporary)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return false, nil, fmt.Errorf("testing %s: %w", p.dir, err)
	}
	return err == nil, out.Bytes(), nil
}
