package config

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// The sources of the types are embedded in the binary, so that schema and
// reference are generated from the docstrings.
var (
	//go:embed backup.go
	backupSource string
	//go:embed environment.go
	environmentSource string
	//go:embed addons.go
	addonsSource string
	//go:embed seed.go
	seedSource string
	//go:embed management.go
	managementSource string
	//go:embed magnum.go
	magnumSource string
	//go:embed console.go
	consoleSource string
	//go:embed monitoring.go
	monitoringSource string
)

// docstrings are the comments of types ("Seed") and fields ("Seed.Image").
func docstrings() (map[string]string, error) {
	docs := map[string]string{}
	for name, source := range map[string]string{"backup.go": backupSource, "environment.go": environmentSource, "seed.go": seedSource, "management.go": managementSource, "addons.go": addonsSource, "magnum.go": magnumSource, "console.go": consoleSource, "monitoring.go": monitoringSource} {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading the docstrings: %w", err)
		}
		for _, declaration := range file.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				collect(d, docs)
			}
		}
	}
	return docs, nil
}

func collect(d *ast.GenDecl, docs map[string]string) {
	for _, spec := range d.Specs {
		t := spec.(*ast.TypeSpec)
		docs[t.Name.Name] = oneLine(d.Doc)
		structure, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				docs[t.Name.Name+"."+name.Name] = oneLine(field.Doc)
			}
		}
	}
}

func oneLine(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}
