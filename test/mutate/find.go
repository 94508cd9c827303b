package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutation is one small change of a file.
type mutation struct {
	file     string
	line     int
	from, to int // offsets in the file of what is replaced
	old, new string
}

func (m mutation) String() string {
	return fmt.Sprintf("%s:%d: %s becomes %s", m.file, m.line, m.old, m.new)
}

// apply is the file's text with the change.
func (m mutation) apply(text []byte) []byte {
	return slices.Concat(text[:m.from], []byte(m.new), text[m.to:])
}

// opposites are what operators become. Arithmetic is left alone: + joins texts.
var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS,
	token.GTR: token.GEQ, token.GEQ: token.GTR, token.LAND: token.LOR, token.LOR: token.LAND,
}

// find has the changes of a package's own files, in order.
func find(dir string) ([]mutation, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "zz_generated") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := findIn(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func findIn(name string, text []byte) ([]mutation, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		return nil, fmt.Errorf("parsing: %w", err)
	}
	var all []mutation
	add := func(from, to token.Pos, replaced string) {
		at := set.Position(from)
		old := string(text[at.Offset:set.Position(to).Offset])
		all = append(all, mutation{name, at.Line, at.Offset, set.Position(to).Offset, old, replaced})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if opposite, ok := opposites[n.Op]; ok {
				add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), opposite.String())
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n.OpPos, n.OpPos+1, "")
			}
		case *ast.IfStmt:
			switch n.Cond.(type) {
			case *ast.CallExpr, *ast.Ident, *ast.SelectorExpr: // what has no operator to change
				add(n.Cond.Pos(), n.Cond.Pos(), "!")
			}
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if id, ok := result.(*ast.Ident); ok && results[id.Name] != "" {
					add(id.Pos(), id.End(), results[id.Name])
				}
			}
		}
		return true
	})
	return all, nil
}

// results are what returned names become.
var results = map[string]string{"err": "nil", "true": "false", "false": "true"}
