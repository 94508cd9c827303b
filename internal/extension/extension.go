// Package extension runs what users add to a cluster when it is up: programs and manifests in
// a folder, in the order of their names.
package extension

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Extension is a file of the folder.
type Extension struct {
	Name, Path string
	// Program reports that it is run; else it is a manifest, which is applied.
	Program bool
}

// Read returns the extensions in a folder in the order of their names. It tells all files that
// are neither programs nor manifests at once; hidden files and folders are not looked at.
func Read(folder string) ([]Extension, error) {
	entries, err := os.ReadDir(folder) // sorted by name
	if err != nil {
		return nil, fault.Usage(folder, err, "name a folder with programs and manifests")
	}
	var all []Extension
	var errs []error
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		one := Extension{Name: entry.Name(), Path: filepath.Join(folder, entry.Name())}
		info, err := os.Stat(one.Path) // it may be a link
		if err != nil {
			errs = append(errs, fmt.Errorf("reading extension %s: %w", one.Path, err))
			continue
		}
		manifest := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(one.Name))
		if one.Program = !manifest && info.Mode()&0o111 != 0; !manifest && !one.Program {
			errs = append(errs, fault.Usage(one.Path, errors.New("it is neither a manifest nor a program"), "name a manifest .yaml, or make a program executable with chmod +x"))
			continue
		}
		if one.Path, err = filepath.Abs(one.Path); err != nil {
			errs = append(errs, fmt.Errorf("reading extension %s: %w", one.Name, err))
		}
		all = append(all, one)
	}
	return all, errors.Join(errs...)
}

// Runner runs extensions on a cluster.
type Runner struct {
	// Apply applies a manifest.
	Apply func(ctx context.Context, manifest []byte) error
	// Environment is that of programs; Output gets what they print.
	Environment []string
	Output      interface{ Write([]byte) (int, error) }
}

// Run runs extensions one after the other, and ends with the first that fails.
func (r Runner) Run(ctx context.Context, all []Extension, progress func(string)) error {
	for i, one := range all {
		progress(fmt.Sprintf("extension %s (%d of %d)", one.Name, i+1, len(all)))
		if err := r.one(ctx, one); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			rest := ""
			if left := len(all) - i - 1; left > 0 {
				rest = fmt.Sprintf("; %d after it were not run", left)
			}
			return fault.New("extension "+one.Name, fmt.Errorf("%w%s", err, rest), "correct it, then run the same command again: all extensions run again, so each must be safe to repeat")
		}
	}
	return nil
}

func (r Runner) one(ctx context.Context, one Extension) error {
	if one.Program {
		cmd := exec.CommandContext(ctx, one.Path)
		cmd.Env, cmd.Dir = r.Environment, filepath.Dir(one.Path)
		cmd.Stdout, cmd.Stderr = r.Output, r.Output
		return cmd.Run()
	}
	text, err := os.ReadFile(one.Path)
	if err != nil {
		return err
	}
	return r.Apply(ctx, text)
}
