package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-sh/slipway/internal/fault"
)

// DefaultFile is the environment file that commands read if none is named.
const DefaultFile = "slipway.yaml"

// Source is the text of one environment file.
type Source struct {
	// Name is the path of the file, for origins and to resolve relative paths in it.
	Name string
	Text []byte
}

// Loaded is a valid environment that was read from files.
type Loaded struct {
	Environment *Environment
	// Files are the layers, in the order given to Load.
	Files []string
	// Dir is the project folder: the absolute folder of the first file. The state is
	// kept there unless the environment says otherwise.
	Dir string
	// TrustBundle is the content of spec.caBundle, nil without one.
	TrustBundle []byte

	origins map[string]Origin
}

// Load reads an environment from files. Later files override earlier ones: maps are
// merged, everything else is replaced, null resets to the default. All mistakes in
// all files are reported at once, each as a fault.Fault with file, line and path. With them
// comes what could be read, if anything, so that the rest of it can be checked too.
func Load(paths ...string) (*Loaded, error) {
	if len(paths) == 0 {
		return nil, fault.Usage("environment", errors.New("no environment file is named"), "name one with -f")
	}
	var sources []Source
	var errs []error
	for _, path := range paths {
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fault.Usage(path, errors.New("the environment file does not exist"), "create one with `slipway init`, or name another one with --file"))
		case err != nil:
			errs = append(errs, fault.Usage(path, err, ""))
		}
		sources = append(sources, Source{Name: path, Text: text})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return Parse(sources...)
}

// Parse is Load for texts. It reads the files that the environment names, to check
// them.
func Parse(sources ...Source) (*Loaded, error) {
	dir, err := filepath.Abs(filepath.Dir(sources[0].Name))
	if err != nil {
		return nil, fmt.Errorf("finding the project folder: %w", err)
	}
	l := &Loaded{Environment: &Environment{}, Dir: dir}
	var problems []Problem
	var merged *yaml.Node
	files := map[*yaml.Node]string{}
	for _, source := range sources {
		l.Files = append(l.Files, source.Name)
		layer, found := parse(source.Name, source.Text)
		if len(found) > 0 {
			problems = append(problems, found...)
			continue
		}
		layer.index(files)
		problems = append(problems, l.decode(layer.root, files, &Environment{})...)
		merged = merge(merged, layer.root)
	}
	if merged == nil {
		return nil, faults(problems, l.Files)
	}
	l.decode(merged, files, l.Environment) // its mistakes are known: every layer was checked
	problems = append(problems, l.judge(problems)...)
	return l, faults(problems, l.Files)
}

func (l *Loaded) decode(root *yaml.Node, files map[*yaml.Node]string, into *Environment) []Problem {
	d := &decoder{files: files, resolve: l.resolve, origins: map[string]Origin{}, root: reflect.TypeFor[Environment]()}
	d.value(root, reflect.ValueOf(into).Elem(), place{node: root})
	l.origins = d.origins
	return d.problems
}

// judge validates, but reports no key that decoding has reported already.
func (l *Loaded) judge(known []Problem) []Problem {
	problems := Validate(l.Environment, l.Given)
	trust, found := readTrust(l.Environment)
	l.TrustBundle = trust
	var fresh []Problem
	for _, p := range append(problems, found...) {
		if slices.ContainsFunc(known, func(k Problem) bool { return covers(k.Path, p.Path) }) {
			continue
		}
		p.Origin = l.Near(p.Path)
		fresh = append(fresh, p)
	}
	return fresh
}

func covers(path, below string) bool {
	rest, ok := strings.CutPrefix(below, path)
	return ok && path != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// resolve makes a path absolute: relative to the file that sets it, or to the
// project folder for a default.
func (l *Loaded) resolve(path string, origin Origin) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir := l.Dir
	if origin.File != "" {
		if abs, err := filepath.Abs(filepath.Dir(origin.File)); err == nil {
			dir = abs
		}
	}
	return filepath.Join(dir, path)
}

// Origin is where the value at a path such as `spec.seed.flavor` was set; the zero
// Origin, "default", if no file sets it.
func (l *Loaded) Origin(path string) Origin { return l.origins[path] }

// Given reports whether a file sets the key, rather than a default.
func (l *Loaded) Given(path string) bool { return l.Origin(path).File != "" }

// Near is the origin of a key or, if no file sets it, of the nearest key around it that one does.
func (l *Loaded) Near(path string) Origin {
	for path != "" {
		if o := l.Origin(path); o.File != "" {
			return o
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return Origin{File: l.Files[0], Line: 1}
}
