package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Origin is where a value was set. The zero Origin is a default.
type Origin struct {
	// File is the path as given to Load.
	File string `json:"file,omitempty"`
	// Line counts from 1.
	Line int `json:"line,omitempty"`
}

// String is "file:line", or "default".
func (o Origin) String() string {
	if o.File == "" {
		return "default"
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Problem is one mistake in an environment file.
type Problem struct {
	Origin Origin
	// Path of the key, such as `spec.seed.access.rules[0].port`.
	Path   string
	Cause  string
	Remedy string
}

// Fault returns the problem as the error that a user reads.
func (p Problem) Fault() *fault.Fault {
	object := p.Path
	if p.Origin.File != "" {
		object = strings.TrimSuffix(p.Origin.String()+": "+p.Path, ": ")
	}
	return fault.Usage(object, errors.New(p.Cause), p.Remedy)
}

// faults joins problems in the order of files and lines; nil if there are none.
func faults(problems []Problem, files []string) error {
	slices.SortStableFunc(problems, func(x, y Problem) int {
		if byFile := slices.Index(files, x.Origin.File) - slices.Index(files, y.Origin.File); byFile != 0 {
			return byFile
		}
		return x.Origin.Line - y.Origin.Line
	})
	var all []error
	for _, p := range problems {
		all = append(all, p.Fault())
	}
	return errors.Join(all...)
}
