// Package magnum is the Magnum-compatible endpoint: the custom resources that
// are its state, the REST API and the controllers are in packages below.
package magnum

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.19.0 object paths=./v1alpha1/... crd output:crd:dir=crds

//go:embed crds/*.yaml
var crds embed.FS

// CRDs returns the definitions of the custom resources by file name, each one
// YAML document.
func CRDs() (map[string][]byte, error) {
	names, err := fs.Glob(crds, "crds/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[name], err = crds.ReadFile(name); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return all, nil
}
