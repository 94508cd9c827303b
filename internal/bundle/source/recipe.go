package source

import (
	"context"
	"os"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/event"
)

// epoch is part of every key. It is raised when the code of the recipes
// changes what they make without changing their fields.
const epoch = 1

// recipe makes one result. Its exported fields are what identifies it: they
// are encoded into its key.
type recipe interface {
	// needs names the recipes whose results go in.
	needs() []string
	// group names recipes that must not run side by side, "" for none.
	group() string
	// fingerprint is what else identifies the result, such as embedded files.
	fingerprint() string
	make(ctx context.Context, j *job) (output, error)
}

// job is one execution of a recipe, with a folder of its own.
type job struct {
	builder *builder
	name    string
	inputs  map[string]product
	step    *event.Step
	dir     string
}

// path is a file in the job's folder.
func (j *job) path(parts ...string) string {
	return filepath.Join(append([]string{j.dir}, parts...)...)
}

// mkdir makes a folder in the job's folder.
func (j *job) mkdir(parts ...string) (string, error) {
	dir := j.path(parts...)
	return dir, os.MkdirAll(dir, 0o755)
}

// input is the file of a needed result.
func (j *job) input(name string) string { return j.inputs[name].file }

// plain is embedded by recipes that need no group and have no more to identify them.
type plain struct{}

func (plain) group() string       { return "" }
func (plain) fingerprint() string { return "" }
