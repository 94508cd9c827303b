package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pass is a run of a part: the last that passed, or the last that failed.
type pass struct {
	Part string `json:"part"`
	// Commit is what ran; "+" after it says that files were not committed.
	Commit string `json:"commit"`
	// Date is the day of the end, in UTC.
	Date    string `json:"date"`
	Result  string `json:"result"`
	Seconds int    `json:"seconds"`
}

const passed, failed = "passed", "failed"

func readPasses(file string) ([]pass, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var passes []pass
	if err == nil {
		err = json.Unmarshal(text, &passes)
	}
	if err != nil {
		return nil, fmt.Errorf("reading passes: %w", err)
	}
	return passes, nil
}

// record puts a run in the place of the part's former one with the same result,
// and forgets a failure when the part passes.
func record(passes []pass, now pass) []pass {
	passes = slices.DeleteFunc(slices.Clone(passes), func(p pass) bool {
		return p.Part == now.Part && (p.Result == now.Result || now.Result == passed)
	})
	passes = append(passes, now)
	slices.SortStableFunc(passes, func(a, b pass) int { return strings.Compare(a.Part, b.Part) })
	return passes
}

// writePasses writes one run a line, so that a merge keeps the others.
func writePasses(file string, passes []pass) error {
	text := []byte("[")
	for i, p := range passes {
		line, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("writing passes: %w", err)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	return write(file, append(text, "\n]\n"...))
}

// write puts a file in its place whole.
func write(name string, text []byte) error {
	temporary := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
	err := os.WriteFile(temporary, text, 0o644)
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// last says when a part passed the last time.
func last(passes []pass, name string) string {
	i := slices.IndexFunc(passes, func(p pass) bool { return p.Part == name && p.Result == passed })
	if i < 0 {
		return "-"
	}
	return passes[i].Date + " at " + passes[i].Commit
}

// newPass is a run of a part that has ended now.
func newPass(root, name string, took time.Duration, err error) (pass, error) {
	commit, gitErr := git(root, "rev-parse", "--short=12", "HEAD")
	if gitErr != nil {
		return pass{}, gitErr
	}
	changed, gitErr := git(root, "status", "--porcelain", "--", ".", ":!docs/proofs.json", ":!docs/proofs.md")
	if gitErr != nil {
		return pass{}, gitErr
	}
	if changed != "" {
		commit += "+"
	}
	p := pass{Part: name, Commit: commit, Date: time.Now().UTC().Format(time.DateOnly), Result: passed, Seconds: int(took.Seconds())}
	if err != nil {
		p.Result = failed
	}
	return p, nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(bytes.TrimSpace(text)), nil
}
