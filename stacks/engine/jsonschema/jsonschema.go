// Package jsonschema replaces version 5 of the library by which Pulumi checks states, projects and
// schemas of providers. Pulumi compiles its schemas when the program starts, which costs every
// command and every process of the engine 9 MiB and a fortieth of a second. Here version 6, which
// Slipway has anyway, compiles a schema when something is first checked against it.
package jsonschema

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Compiler has the means to read schemas.
type Compiler struct {
	// LoadURL reads the schema at a URL. Version 6 knows those of JSON Schema itself.
	LoadURL func(url string) (io.ReadCloser, error)
}

// NewCompiler returns a compiler that finds no schemas yet.
func NewCompiler() *Compiler { return &Compiler{LoadURL: LoadURL} }

// LoadURL finds nothing: Pulumi has its schemas in the program.
func LoadURL(url string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("jsonschema: no schema at %s", url)
}

// MustCompile returns the schema at a URL. It is read and compiled later: Validate panics
// when it is wrong, as MustCompile did.
func (c *Compiler) MustCompile(url string) *Schema {
	return &Schema{compiled: sync.OnceValue(func() *jsonschema.Schema {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(loader(c.LoadURL))
		return compiler.MustCompile(url)
	})}
}

type loader func(url string) (io.ReadCloser, error)

func (load loader) Load(url string) (any, error) {
	file, err := load(url)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jsonschema.UnmarshalJSON(file)
}

// Schema checks values. Its exported fields are nil: Pulumi reads them to suggest names when
// somebody has mistyped one in Pulumi.yaml, which the engine writes itself.
type Schema struct {
	Ref, Items2020       *Schema
	Properties           map[string]*Schema
	AdditionalProperties any

	compiled func() *jsonschema.Schema
}

// Validate returns a *ValidationError when a value of decoded JSON does not fit the schema.
func (s *Schema) Validate(value any) error {
	err := s.compiled().Validate(value)
	if wrong, ok := err.(*jsonschema.ValidationError); ok {
		return translate(wrong, "", message.NewPrinter(language.English))
	}
	return err
}

// ValidationError says where and why a value does not fit.
type ValidationError struct {
	InstanceLocation string // a JSON pointer, empty for the whole
	Message          string
	Causes           []*ValidationError
}

// Error has a line for the whole and one for each cause.
func (e *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "jsonschema: '%s' %s", e.InstanceLocation, e.Message)
	for _, cause := range e.Causes {
		b.WriteString("\n  " + strings.ReplaceAll(cause.Error(), "\n", "\n  "))
	}
	return b.String()
}

// translate gives errors of version 6 the form of version 5. An error in a property's name has no
// place in version 6: it is below that of the error that it belongs to.
func translate(from *jsonschema.ValidationError, within string, printer *message.Printer) *ValidationError {
	to := &ValidationError{Message: from.ErrorKind.LocalizedString(printer), InstanceLocation: pointer(from.InstanceLocation)}
	if name, ok := from.ErrorKind.(*kind.PropertyNames); ok {
		within += pointer([]string{name.Property})
	}
	if to.InstanceLocation == "" {
		to.InstanceLocation = within
	}
	for _, cause := range from.Causes {
		to.Causes = append(to.Causes, translate(cause, to.InstanceLocation, printer))
	}
	return to
}

func pointer(names []string) (path string) {
	for _, name := range names {
		path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return path
}
