package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// unreleased is the section of the change log that comes before a release.
const unreleased = "Unreleased"

// notes writes the version's section of the change log. A version before a
// release, such as v0.1.0-rc.1, may have none of its own yet.
func (r *release) notes(context.Context) error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	part, ok := section(string(text), r.version)
	if !ok && strings.Contains(r.version, "-") {
		part, ok = section(string(text), unreleased)
	}
	if !ok {
		return fmt.Errorf("CHANGELOG.md has no section %q with entries: rename %q", "## "+r.version, "## "+unreleased)
	}
	head := fmt.Sprintf("# Slipway %s\n\nCommit %s.\n\n", r.version, r.source.commit)
	return os.WriteFile(r.file("_notes.md"), []byte(head+part+"\n"), 0o644)
}

// section returns what is below a heading of the second level, whose first word
// is the name: a date may follow.
func section(text, name string) (string, bool) {
	var part []string
	inside := false
	for line := range strings.Lines(text) {
		if title, heading := strings.CutPrefix(line, "## "); heading {
			words := strings.Fields(title)
			inside = len(words) > 0 && words[0] == name
			continue
		}
		if inside {
			part = append(part, line)
		}
	}
	found := strings.TrimSpace(strings.Join(part, ""))
	return found, found != ""
}
