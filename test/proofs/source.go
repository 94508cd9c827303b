package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module is the import path of the repository.
const module = "github.com/slipway-sh/slipway/"

// function is one of a test file, or of a package that helps tests.
type function struct {
	// dir is its package's folder, such as internal/etcd; file is its own.
	dir, file, name string
	// uses are functions it names: "name" of its package, ".name" of any method
	// there, "folder.name" of another package of the repository.
	uses []string
	// variables are those without which it skips its test.
	variables []string
	// built is the constraint of its file's //go:build, or nothing.
	built constraint.Expr
	// claims are the rows that it proves.
	claims []string
}

// test says that `go test` starts it.
func (f *function) test() bool { return testName.MatchString(f.name) }

// source is what the tests of a repository say about themselves.
type source struct {
	functions []*function
	// byName has functions by "folder.name" and methods by "folder..name".
	byName map[string][]*function
	// problems are claims and skips that cannot be understood.
	problems []string
}

var (
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)([^a-z].*)?$`)
	variable = regexp.MustCompile(`\bSLIPWAY_[A-Z0-9_]+\b`)
	// row is the id of an acceptance row.
	row = regexp.MustCompile(`^(F\d+|[STD]-\d+|M-[A-Z]\d+)$`)
)

// ignored are the folders of a checkout that Git ignores: builds and whole file systems, some with
// tests of others. A folder without a .gitignore has none.
func ignored(root string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	made := map[string]bool{}
	for _, line := range strings.Fields(string(text)) {
		made[filepath.Join(root, line)] = true
	}
	return made, nil
}

// read parses the test files below a folder, and the packages that tests share.
func read(root string) (*source, error) {
	s := &source{byName: map[string][]*function{}}
	made, err := ignored(root)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules" || made[name]):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(filepath.Dir(name), "test"):
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return s.file(name, filepath.ToSlash(relative))
	})
	if err != nil {
		return nil, fmt.Errorf("reading tests: %w", err)
	}
	return s, nil
}

func (s *source) file(name, relative string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	built, err := constraintOf(file)
	if err != nil {
		return fmt.Errorf("%s: %w", relative, err)
	}
	imports := map[string]string{}
	for _, i := range file.Imports {
		target, _ := strconv.Unquote(i.Path.Value)
		alias := path.Base(target)
		if i.Name != nil {
			alias = i.Name.Name
		}
		imports[alias] = target
	}
	for _, declaration := range file.Decls {
		d, ok := declaration.(*ast.FuncDecl)
		if !ok || d.Body == nil {
			continue
		}
		f := &function{dir: path.Dir(relative), file: relative, name: d.Name.Name, built: built}
		s.body(f, d, imports, set)
		s.claims(f, d, file.Comments)
		key := f.dir + "." + f.name
		if d.Recv != nil {
			key = f.dir + ".." + f.name
		}
		s.functions, s.byName[key] = append(s.functions, f), append(s.byName[key], f)
	}
	return nil
}

// constraintOf is what a file says before its package about when it is compiled.
func constraintOf(file *ast.File) (constraint.Expr, error) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if comment.Pos() < file.Package && constraint.IsGoBuild(comment.Text) {
				return constraint.Parse(comment.Text)
			}
		}
	}
	return nil, nil
}

// body notes what a function uses and where it skips.
func (s *source) body(f *function, d *ast.FuncDecl, imports map[string]string, set *token.FileSet) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			f.uses = append(f.uses, n.Name)
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && (called.Sel.Name == "Skip" || called.Sel.Name == "Skipf") {
				f.variables = append(f.variables, variable.FindAllString(texts(n.Args), -1)...)
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				f.uses = append(f.uses, "."+n.Sel.Name)
				break
			}
			switch target, imported := imports[x.Name]; {
			case !imported:
				f.uses = append(f.uses, "."+n.Sel.Name, x.Name)
			case strings.HasPrefix(target, module):
				f.uses = append(f.uses, strings.TrimPrefix(target, module)+"."+n.Sel.Name)
			}
			return false
		case *ast.IfStmt:
			if silent(n) {
				s.problems = append(s.problems, fmt.Sprintf("%s: a skip for want of a variable does not name it", set.Position(n.Pos())))
			}
		}
		return true
	})
}

// texts are the literals among arguments.
func texts(args []ast.Expr) string {
	var all strings.Builder
	for _, arg := range args {
		ast.Inspect(arg, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				all.WriteString(text + " ")
			}
			return true
		})
	}
	return all.String()
}

// silent says that an if skips, because of the environment, without a word about
// which variable it misses.
func silent(n *ast.IfStmt) bool {
	reads, skips, names := false, false, false
	look := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		called, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch called.Sel.Name {
		case "Getenv", "LookupEnv":
			reads = true
		case "Skip", "Skipf", "SkipNow":
			skips, names = true, names || variable.MatchString(texts(call.Args))
		}
		return true
	}
	if n.Init != nil {
		ast.Inspect(n.Init, look)
	}
	ast.Inspect(n.Cond, look)
	ast.Inspect(n.Body, look)
	return reads && skips && !names
}

// claims notes the rows that comments of a function name.
func (s *source) claims(f *function, d *ast.FuncDecl, comments []*ast.CommentGroup) {
	start := d.Pos()
	if d.Doc != nil {
		start = d.Doc.Pos()
	}
	for _, group := range comments {
		if group.Pos() < start || group.End() > d.End() {
			continue
		}
		for line := range strings.Lines(group.Text()) {
			list, ok := strings.CutPrefix(strings.TrimSpace(line), "proves:")
			if !ok {
				continue
			}
			for _, id := range strings.Split(list, ",") {
				if id = strings.TrimSpace(id); !row.MatchString(id) {
					s.problems = append(s.problems, fmt.Sprintf("%s: %s proves %q, which is no id of a row", f.file, f.name, id))
					continue
				}
				f.claims = append(f.claims, id)
			}
		}
	}
}

// reach is every function that one leads to, itself included.
func (s *source) reach(f *function) map[*function]bool {
	seen := map[*function]bool{f: true}
	for open := []*function{f}; len(open) > 0; open = open[1:] {
		at := open[0]
		for _, use := range at.uses {
			key := at.dir + "." + use
			if folder, name, ok := strings.Cut(use, "."); ok && folder != "" {
				key = folder + "." + name
			}
			for _, next := range s.byName[key] {
				if !seen[next] {
					seen[next], open = true, append(open, next)
				}
			}
		}
	}
	return seen
}

// needs are the variables without which a test is skipped, in order.
func (s *source) needs(f *function) []string {
	needed := map[string]bool{}
	for used := range s.reach(f) {
		for _, name := range used.variables {
			needed[name] = true
		}
	}
	return slices.Sorted(maps.Keys(needed))
}

// tests are the functions that go test starts.
func (s *source) tests() []*function {
	return slices.DeleteFunc(slices.Clone(s.functions), func(f *function) bool { return !f.test() || !strings.HasSuffix(f.file, "_test.go") })
}

// packages are those of tests.
func packages(tests []*function) []string {
	found := map[string]bool{}
	for _, f := range tests {
		found["./"+f.dir] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// needing are the tests that are skipped without a variable.
func (s *source) needing(name string) []*function {
	return slices.DeleteFunc(s.tests(), func(f *function) bool { return !slices.Contains(s.needs(f), name) })
}

// real are the tests below some folders that need variables, and no others than those given.
func (s *source) real(given, below []string) []*function {
	return slices.DeleteFunc(s.tests(), func(f *function) bool {
		inside := slices.ContainsFunc(below, func(dir string) bool { return f.dir == dir || strings.HasPrefix(f.dir, dir+"/") })
		needs := s.needs(f)
		return !inside || len(needs) == 0 || slices.ContainsFunc(needs, func(name string) bool { return !slices.Contains(given, name) })
	})
}
