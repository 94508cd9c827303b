package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
)

// document is a file that goes beside the program.
type document struct {
	// name is where it is in an archive, as "man/man1/slipway.1".
	name    string
	content []byte
}

// completions are the shells, and the name of the file that each looks for.
func completions(program string) [][2]string {
	return [][2]string{{"bash", program}, {"zsh", "_" + program}, {"fish", program + ".fish"}}
}

// document asks the program for its completions and manual pages.
func (r *release) document(ctx context.Context) error {
	for _, shell := range completions(r.program) {
		text, err := output(ctx, r.work, r.binaries[host()], "completion", shell[0])
		if err != nil {
			return err
		}
		if text == "" {
			return fmt.Errorf("the completion of %s is empty", shell[0])
		}
		r.documents = append(r.documents, document{path.Join("completions", shell[0], shell[1]), []byte(text + "\n")})
	}
	pages := filepath.Join(r.work, "man1")
	cmd := exec.CommandContext(ctx, r.binaries[host()], "reference", "--man", pages)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.source.time.Unix(), 10))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return r.addPages(pages)
}

func (r *release) addPages(dir string) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return fmt.Errorf("%s wrote no manual page", r.program)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		r.documents = append(r.documents, document{path.Join("man", "man1", entry.Name()), text})
	}
	return nil
}
