package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutation is one small change of a file, which a program with all of them makes when it is told
// its number.
type mutation struct {
	id       int
	file     string
	line     int
	old, new string
	edits    []edit
}

func (m mutation) String() string {
	return fmt.Sprintf("%s:%d: %s becomes %s", m.file, m.line, m.old, m.new)
}

// edit replaces what is between two offsets of a file. None ends a line, so that the lines of a
// changed file are those of the original.
type edit struct {
	from, to int
	text     string
}

// opposites are what operators become. Arithmetic is left alone: + joins texts.
var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS,
	token.GTR: token.GEQ, token.GEQ: token.GTR, token.LAND: token.LOR, token.LOR: token.LAND,
}

// results are what returned names become.
var results = map[string]string{"err": "nil", "true": "false", "false": "true"}

// find has the changes of a package's own files, in order, as far as they are for this platform.
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
		if match, err := build.Default.MatchFile(filepath.Split(name)); err != nil || !match {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := findIn(name, text, len(all)+1)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// finder collects the changes of a file. Edits at one place have their order: an outer
// expression opens before an inner one, and ends after it.
type finder struct {
	set   *token.FileSet
	name  string
	text  []byte
	first int
	all   []mutation
}

// findIn has the changes of a file; the first has this number.
func findIn(name string, text []byte, first int) ([]mutation, error) {
	f := &finder{set: token.NewFileSet(), name: name, text: text, first: first}
	file, err := parser.ParseFile(f.set, name, text, 0)
	if err != nil {
		return nil, fmt.Errorf("parsing: %w", err)
	}
	ast.Walk(f, file)
	return f.all, nil
}

// Visit finds the changes of a node. A constant has none: it could not be one any more.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			return nil
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			m := f.add(n.OpPos, n.OpPos+1, "")
			f.replace(m, n.OpPos, n.OpPos+1, "((")
			f.insert(m, n.End(), fmt.Sprintf(") != !%s(%d))", switched, m.id))
		}
	case *ast.IfStmt:
		switch n.Cond.(type) {
		case *ast.CallExpr, *ast.Ident, *ast.SelectorExpr: // what has no operator to change
			f.negate(f.add(n.Cond.Pos(), n.Cond.Pos(), "!"), n.Cond)
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			if id, ok := result.(*ast.Ident); ok && results[id.Name] != "" {
				f.result(id)
			}
		}
	}
	return f
}

// binary makes an operator its opposite, in words that keep what is untyped so, and the order in
// which operands are computed: a && b is made (!a || !b) and denied for a || b.
func (f *finder) binary(n *ast.BinaryExpr) {
	opposite, ok := opposites[n.Op]
	if !ok {
		return
	}
	end := n.OpPos + token.Pos(len(n.Op.String()))
	m := f.add(n.OpPos, end, opposite.String())
	switch n.Op {
	case token.EQL, token.NEQ:
		f.negate(m, n)
	case token.LAND, token.LOR:
		on := fmt.Sprintf("%s(%d)", switched, m.id)
		f.insert(m, n.X.Pos(), "((((")
		f.insert(m, n.X.End(), ") != "+on+")")
		f.insert(m, n.Y.Pos(), "((")
		f.insert(m, n.Y.End(), ") != "+on+")) != "+on+")")
	default:
		f.insert(m, n.Pos(), fmt.Sprintf("%s(%d, ", compared[n.Op], m.id))
		f.replace(m, n.OpPos, end, ", ")
		f.insert(m, n.End(), ")")
	}
}

func (f *finder) negate(m *mutation, n ast.Node) {
	f.insert(m, n.Pos(), "((")
	f.insert(m, n.End(), fmt.Sprintf(") != %s(%d))", switched, m.id))
}

func (f *finder) result(id *ast.Ident) {
	m := f.add(id.Pos(), id.End(), results[id.Name])
	switch id.Name {
	case "true":
		f.replace(m, id.Pos(), id.End(), fmt.Sprintf("!%s(%d)", switched, m.id))
	case "false":
		f.replace(m, id.Pos(), id.End(), fmt.Sprintf("%s(%d)", switched, m.id))
	default:
		f.insert(m, id.Pos(), fmt.Sprintf("%s(%d, ", dropped, m.id))
		f.insert(m, id.End(), ")")
	}
}

func (f *finder) add(from, to token.Pos, replaced string) *mutation {
	at := f.set.Position(from)
	old := string(f.text[at.Offset:f.set.Position(to).Offset])
	f.all = append(f.all, mutation{id: f.first + len(f.all), file: f.name, line: at.Line, old: old, new: replaced})
	return &f.all[len(f.all)-1]
}

func (f *finder) insert(m *mutation, at token.Pos, text string) { f.replace(m, at, at, text) }

func (f *finder) replace(m *mutation, from, to token.Pos, text string) {
	m.edits = append(m.edits, edit{f.set.Position(from).Offset, f.set.Position(to).Offset, text})
}

// apply is a file's text with all these changes in it. An expression is found before those in it,
// so that where several begin, the outer one opens first; where several end, the inner one does.
func apply(text []byte, all []mutation) []byte {
	type ordered struct {
		edit
		closes bool
		order  int
	}
	var edits []ordered
	for i, m := range all {
		for _, e := range m.edits {
			closes := strings.HasPrefix(e.text, ")")
			order := i
			if closes {
				order = -i
			}
			edits = append(edits, ordered{e, closes, order})
		}
	}
	slices.SortStableFunc(edits, func(a, b ordered) int {
		switch {
		case a.from != b.from:
			return a.from - b.from
		case a.closes != b.closes:
			if a.closes {
				return -1
			}
			return 1
		}
		return a.order - b.order
	})
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, text[at:]...)
}
