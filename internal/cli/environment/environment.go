// Package environment holds the flags that name the environment file, the same
// for all commands.
package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Flags are the values of -f and --env.
type Flags struct {
	Files []string
	Name  string
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) { f.add(flags, "f") }

// AddLong adds the flags without the shorthand -f, for commands in which -f is
// another file.
func (f *Flags) AddLong(flags *pflag.FlagSet) { f.add(flags, "") }

func (f *Flags) add(flags *pflag.FlagSet, letter string) {
	flags.StringArrayVarP(&f.Files, "file", letter, []string{config.DefaultFile}, "environment file; can be repeated, later files override earlier ones")
	flags.StringVar(&f.Name, "env", "", "use environment NAME: environments/NAME.yaml, beside the first file, overrides the other files")
}

// Layer is the file of the environment that --env names.
func (f *Flags) Layer() string {
	return filepath.Join(filepath.Dir(f.Files[0]), "environments", f.Name+".yaml")
}

// Load reads the environment that the flags name. Mistakes come with those of the values for the
// management cluster's chart.
func (f *Flags) Load() (*config.Loaded, error) {
	loaded, err := f.read()
	if err == nil {
		return loaded, nil
	}
	if more := checkGiven(loaded); more != nil {
		err = errors.Join(err, more)
	}
	return nil, err
}

func (f *Flags) read() (*config.Loaded, error) {
	if f.Name == "" {
		return config.Load(f.Files...)
	}
	layer := f.Layer()
	var sources []config.Source
	for _, path := range f.Files {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return config.Load(f.Files...) // it reports every missing file
		}
		if err != nil {
			return nil, fault.Usage(path, err, "")
		}
		sources = append(sources, config.Source{Name: path, Text: text})
	}
	// The name comes from the flag, so that a file without a name cannot make the
	// command work on the base file's environment.
	sources = append(sources, config.Source{Name: "--env", Text: fmt.Appendf(nil, "metadata: {name: %q}\n", f.Name)})
	text, err := os.ReadFile(layer)
	if err != nil {
		return nil, fault.Usage("--env "+f.Name, err, "write "+layer+" with what differs in this environment")
	}
	loaded, err := config.Parse(append(sources, config.Source{Name: layer, Text: text})...)
	if err != nil {
		return loaded, err
	}
	if got := loaded.Environment.Metadata.Name; got != f.Name {
		return nil, fault.Usage(loaded.Origin("metadata.name").String()+": metadata.name", fmt.Errorf("the file names environment %q, --env names %q", got, f.Name), "remove the name from the file")
	}
	return loaded, nil
}
