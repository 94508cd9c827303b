package boundaries

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/slipway-sh/slipway/"
)

// goFiles calls visit with each Go file of the product, its path below the root
// with slashes. Folders with an underscore are programs of the bundle.
func goFiles(t *testing.T, visit func(path string)) {
	t.Helper()
	for _, room := range []string{"cmd", "internal", "addons", "images", "stacks", "test"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && strings.HasPrefix(entry.Name(), "_"):
				return fs.SkipDir
			case !entry.IsDir() && strings.HasSuffix(path, ".go"):
				below, _ := filepath.Rel(root, path)
				visit(filepath.ToSlash(below))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func within(path string, folders ...string) bool {
	for _, folder := range folders {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}

// What a room may import of the product. The sandbox is a product of its own
// (docs/design/0021-sandbox.md): it knows how to tell progress, to read a partition table and to run QEMU, and nothing
// else of Slipway. Addons and images do not know what an environment is. Only the command
// line knows the sandbox, and only cmd the command line.
func TestRoomsImportDownwards(t *testing.T) {
	t.Parallel()
	rules := []struct {
		room     string
		only, no []string
	}{
		{room: "internal/sandbox", only: []string{"internal/sandbox", "internal/event", "internal/bootdisk", "internal/qemu"}},
		{room: "internal/event", only: []string{"internal/event"}},
		{room: "internal/component", no: []string{"stacks", "internal/cli", "internal/sandbox", "addons", "images"}},
		{room: "addons", no: []string{"stacks", "internal/cli", "internal/sandbox", "images"}},
		{room: "images", no: []string{"stacks", "internal/cli", "internal/sandbox", "addons"}},
		{room: "stacks", no: []string{"internal/cli", "internal/sandbox"}},
		{room: "internal/bundle", no: []string{"stacks", "internal/cli", "internal/sandbox", "addons", "images"}},
	}
	seen := map[string]bool{}
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") || within(path, "test") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			imported, ours := strings.CutPrefix(name, module)
			if !ours {
				continue
			}
			if within(imported, "internal/cli") && !within(path, "cmd", "internal/cli") ||
				within(imported, "internal/sandbox") && !within(path, "internal/cli", "internal/sandbox") {
				t.Errorf("%s imports %s", path, imported)
			}
			for _, rule := range rules {
				if !within(path, rule.room) {
					continue
				}
				seen[rule.room] = true
				if within(imported, rule.no...) || rule.only != nil && !within(imported, rule.only...) {
					t.Errorf("%s imports %s, which %s may not", path, imported, rule.room)
				}
			}
		}
	})
	for _, rule := range rules {
		if !seen[rule.room] && rule.no != nil {
			t.Errorf("no file of %s was read", rule.room)
		}
	}
}

// Only the command line, with its terminal in internal/ui, prints, ends the process or reads its environment;
// packages for tests read the variables that tests are chosen by.
func TestOnlyTheCommandLineTalks(t *testing.T) {
	t.Parallel()
	talks := map[string][]string{
		"fmt": {"Print", "Println", "Printf"},
		"os":  {"Exit", "Getenv", "LookupEnv", "Environ", "Stdout", "Stdin"},
		"log": {"Fatal", "Fatalf", "Print", "Println", "Printf"},
	}
	read := 0
	goFiles(t, func(path string) {
		folder := filepath.Base(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(folder, "test") || within(path, "test", "cmd", "internal/cli", "internal/ui") {
			return
		}
		read++
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := selector.X.(*ast.Ident); ok {
				for _, word := range talks[of.Name] {
					if selector.Sel.Name == word {
						t.Errorf("%s: %s.%s outside cmd and internal/cli", files.Position(node.Pos()), of.Name, word)
					}
				}
			}
			return true
		})
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s has func init", path)
			}
		}
	})
	if read < 300 {
		t.Errorf("only %d files were read", read)
	}
}
