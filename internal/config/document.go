package config

import (
	"fmt"
	"path/filepath"
	"reflect"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Document is another kind of file than an environment, such as an image manifest,
// read by the same rules: strictly, with the origin of every value, and with all
// mistakes reported at once.
type Document struct {
	loaded   *Loaded
	problems []Problem
}

// ParseDocument decodes one YAML or JSON document into a struct with the same tags
// as Environment. Mistakes are collected for Err; the struct holds what could be
// decoded.
func ParseDocument(source Source, into any) (*Document, error) {
	dir, err := filepath.Abs(filepath.Dir(source.Name))
	if err != nil {
		return nil, fmt.Errorf("finding the folder of %s: %w", source.Name, err)
	}
	d := &Document{loaded: &Loaded{Files: []string{source.Name}, Dir: dir, origins: map[string]Origin{}}}
	top, found := parse(source.Name, source.Text)
	if len(found) > 0 {
		d.problems = found
		return d, nil
	}
	files := map[*yaml.Node]string{}
	top.index(files)
	value := reflect.ValueOf(into).Elem()
	decoding := &decoder{files: files, resolve: d.loaded.resolve, origins: d.loaded.origins, root: value.Type()}
	decoding.value(top.root, value, place{node: top.root})
	d.problems = decoding.problems
	rulesOf := &validator{given: d.loaded.Given}
	rulesOf.walk(value, nil, rules{})
	for _, p := range rulesOf.problems {
		d.add(p)
	}
	return d, nil
}

// Given reports whether the file sets the key, rather than a default.
func (d *Document) Given(at *field.Path) bool { return d.loaded.Given(at.String()) }

// Add adds a mistake that decoding did not find. A key that has a mistake already
// gets no second one.
func (d *Document) Add(at *field.Path, remedy, cause string, args ...any) {
	d.add(Problem{Path: pathText(at), Cause: fmt.Sprintf(cause, args...), Remedy: remedy})
}

func (d *Document) add(p Problem) {
	for _, known := range d.problems {
		if covers(known.Path, p.Path) {
			return
		}
	}
	p.Origin = d.loaded.Near(p.Path)
	d.problems = append(d.problems, p)
}

// Err joins all mistakes, each a fault.Fault with file, line and path; nil if there
// are none.
func (d *Document) Err() error { return faults(d.problems, d.loaded.Files) }
