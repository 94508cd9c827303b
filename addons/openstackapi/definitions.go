package openstackapi

import (
	"fmt"
	"io/fs"
)

// Definitions reads the definitions of custom resources in a folder's YAML files, one document
// each, by file name.
func Definitions(files fs.FS) (map[string][]byte, error) {
	names, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[name], err = fs.ReadFile(files, name); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return all, nil
}
