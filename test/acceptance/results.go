package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The outcomes of a test.
const (
	passed  = "pass"
	failed  = "fail"
	skipped = "skip"
)

// result is what became of one test.
type result struct {
	outcome string
	output  []string
}

// key is a package and a test of it.
type key struct{ pkg, test string }

func (k key) String() string { return k.pkg + " " + k.test }

func (k key) compare(other key) int {
	return strings.Compare(k.String(), other.String())
}

type results map[key]result

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// readResults reads the events of go test -json of packages below root, and says what fails while it
// runs. Subtests count with the test they are of. A test that began and never
// ended, as after a panic of another, failed.
func readResults(r io.Reader, root string, progress io.Writer) (results, error) {
	all := results{}
	decoder := json.NewDecoder(r)
	for {
		var e event
		switch err := decoder.Decode(&e); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("reading go test -json: %w", err)
		}
		e.Package = strings.TrimPrefix(e.Package, root)
		all.add(e, progress)
	}
}

func (all results) add(e event, progress io.Writer) {
	if e.Test == "" {
		if e.Action == "fail" || e.Action == "pass" {
			fmt.Fprintln(progress, e.Action, e.Package)
		}
		return
	}
	name, _, sub := strings.Cut(e.Test, "/")
	k := key{e.Package, name}
	v := all[k]
	switch e.Action {
	case "run":
		if !sub {
			v.outcome = failed
		}
	case "output":
		v.output = append(v.output, e.Output)
	case passed, failed, skipped:
		if !sub {
			v.outcome = e.Action
		}
		if !sub && e.Action == failed {
			fmt.Fprintf(progress, "fail %s (%.0f s)\n", k, e.Elapsed)
		}
	}
	all[k] = v
}

// with returns the tests that ended so, sorted.
func (all results) with(outcome string) []key {
	var keys []key
	for k, v := range all {
		if v.outcome == outcome {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, key.compare)
	return keys
}

// skipped returns the tests that skipped themselves and said this, and their
// packages.
func (all results) skipped(reason string) (packages, names []string) {
	for _, k := range all.with(skipped) {
		if strings.Contains(strings.Join(all[k].output, ""), reason) {
			packages, names = append(packages, k.pkg), append(names, k.test)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages), names
}

// reason is what a test said when it skipped itself.
func (v result) reason() string {
	for _, line := range slices.Backward(v.output) {
		if at, text, found := strings.Cut(line, ".go:"); found && !strings.Contains(at, "---") {
			if _, text, found = strings.Cut(text, ": "); found {
				return strings.TrimSpace(text)
			}
		}
	}
	return "no reason given"
}

func (all results) summary() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped themselves", len(all.with(passed)), len(all.with(failed)), len(all.with(skipped)))
}

// failures is the output of every test that failed.
func (all results) failures() []byte {
	var text bytes.Buffer
	for _, k := range slices.SortedFunc(maps.Keys(all), key.compare) {
		if all[k].outcome == failed {
			fmt.Fprintf(&text, "##### %s\n%s", k, strings.Join(all[k].output, ""))
		}
	}
	return text.Bytes()
}
