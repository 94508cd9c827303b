package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/ui"
)

// toRun is a command that a text says to run.
var toRun = regexp.MustCompile("\\b(?:run|with|see|by) `?slipway ([a-z]+)")

// TestTextsNameRealCommands: what errors and help say to run exists.
func TestTextsNameRealCommands(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"as": true, "that": true} // "run slipway as root"
	for _, cmd := range newRoot(ui.Streams{}).Commands() {
		known[cmd.Name()] = true
	}
	seen := 0
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			top := filepath.Dir(file) == "../.." && (name == "bundle" || name == "test")
			if file != "../.." && (strings.HasPrefix(name, ".") || name == "testdata" || top) {
				return filepath.SkipDir
			}
			return nil
		} else if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, found := range toRun.FindAllStringSubmatch(line, -1) {
				if seen++; !known[found[1]] {
					t.Errorf("%s:%d: there is no command slipway %s", file, i+1, found[1])
				}
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d commands, %v", seen, err)
	}
}
