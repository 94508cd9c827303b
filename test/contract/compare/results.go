package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// outcome is what became of a test: pass, fail or skip, and what it said.
type outcome struct {
	action string
	output []string
}

// results are the outcomes by the test's name; subtests have names of their own.
type results map[string]outcome

// results runs the suite, or reads the events of an earlier run.
func (o options) results(ctx context.Context, events string, environment []string) (results, error) {
	if events != "" {
		file, err := os.Open(events)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return readResults(file)
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count", "1", "-parallel", "4", "-timeout", "30m", "./"+o.folder)
	cmd.Env, cmd.Stderr = environment, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	found, err := readResults(out)
	exit := cmd.Wait()
	if failed := (*exec.ExitError)(nil); errors.As(exit, &failed) && ctx.Err() == nil && len(found) > 0 {
		exit = nil // the results tell more
	}
	return found, errors.Join(err, exit)
}

// readResults reads the events of go test -json. A test that began and did not
// end, as after a panic of another, failed.
func readResults(r io.Reader) (results, error) {
	all := results{}
	for decoder := json.NewDecoder(r); ; {
		var e struct{ Action, Test, Output string }
		switch err := decoder.Decode(&e); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("reading go test -json: %w", err)
		case e.Test == "":
			continue
		}
		was := all[e.Test]
		switch e.Action {
		case "run":
			was.action = "fail"
		case "pass", "fail", "skip":
			was.action = e.Action
		case "output":
			was.output = append(was.output, e.Output)
		}
		all[e.Test] = was
	}
}

// leaves are the tests that failed without a subtest that did.
func (r results) leaves() []string {
	inner := map[string]bool{}
	for name, v := range r {
		if v.action != "fail" {
			continue
		}
		for i, letter := range name {
			if letter == '/' {
				inner[name[:i]] = true
			}
		}
	}
	var names []string
	for name, v := range r {
		if v.action == "fail" && !inner[name] {
			names = append(names, name)
		}
	}
	return names
}

// said is what a test said, in one line.
func (o outcome) said() string {
	var text []string
	for _, line := range o.output {
		if at, message, found := strings.Cut(line, ".go:"); found && !strings.Contains(at, "---") {
			text = append(text, strings.TrimSpace(message))
		}
	}
	line := strings.Join(text, "; ")
	return line[:min(len(line), 300)]
}

// readAreas tells which part of OpenStack each test of the suite is about, by
// the beginning of its file's name.
func readAreas(folder string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	areas := map[string]string{}
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			return nil, fmt.Errorf("reading the suite: %w", err)
		}
		area, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), "_test.go"), "_")
		for _, d := range parsed.Decls {
			if function, is := d.(*ast.FuncDecl); is && strings.HasPrefix(function.Name.Name, "Test") && function.Recv == nil {
				areas[function.Name.Name] = area
			}
		}
	}
	return areas, nil
}
