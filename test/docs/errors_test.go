package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestWordsOfErrors holds what errors say, and what to do about them, against the rules of the
// pages.
func TestWordsOfErrors(t *testing.T) {
	t.Parallel()
	rules := rules(t, pages(t))
	seen := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			top := filepath.Dir(file) == root && (name == "bundle" || name == "test")
			if file != root && (strings.HasPrefix(name, ".") || name == "testdata" || top) {
				return filepath.SkipDir
			}
			return nil
		} else if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(source, []byte(`slipway/internal/fault"`)) {
			return err
		}
		texts, err := errorTexts(source)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		seen += len(texts)
		for _, broken := range (Page{Path: file, Lines: texts}).Check(rules) {
			t.Errorf("%s:%d: not %q; write: %s", file, broken.Line, broken.Text, broken.Rule.Instead)
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Errorf("%d texts of errors, %v", seen, err)
	}
}

// errorTexts returns the texts in the calls of fault.New and fault.Usage, each as a row of
// its own.
func errorTexts(source []byte) ([]Line, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing: %w", err)
	}
	var texts []Line
	ast.Inspect(parsed, func(node ast.Node) bool {
		call, isCall := node.(*ast.CallExpr)
		if !isCall || !makesFault(call) {
			return true
		}
		ast.Inspect(call, func(inside ast.Node) bool {
			literal, isLiteral := inside.(*ast.BasicLit)
			if !isLiteral || literal.Kind != token.STRING {
				return true
			}
			if text, wrong := strconv.Unquote(literal.Value); wrong == nil {
				texts = append(texts, Line{Number: files.Position(literal.Pos()).Line, Text: text, Kind: Table})
			}
			return true
		})
		return false
	})
	return texts, nil
}

func makesFault(call *ast.CallExpr) bool {
	function, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector {
		return false
	}
	from, isName := function.X.(*ast.Ident)
	return isName && from.Name == "fault" && (function.Sel.Name == "New" || function.Sel.Name == "Usage")
}

// TestErrorsWithWrongWords shows that a word is found in an object, a cause and a fix, over the
// ends of lines, and nowhere else.
func TestErrorsWithWrongWords(t *testing.T) {
	t.Parallel()
	source := "package a\n\nimport \"github.com/slipway-sh/slipway/internal/fault\"\n\nvar other = \"made anew\"\n\n" +
		"func f() error {\n\treturn fault.New(\"what is anew\",\n\t\tfmt.Errorf(\"attached anew: %w\", err), \"run it again\"+\"; it goes on\")\n}\n"
	texts, err := errorTexts([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, broken := range (Page{Lines: texts}).Check(rules(t, pages(t))) {
		at = append(at, broken.Line)
	}
	if fmt.Sprint(at) != "[8 9 9]" {
		t.Errorf("found in lines %v", at)
	}
}
