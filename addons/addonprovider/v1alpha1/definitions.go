package v1alpha1

import (
	_ "embed" // the definitions
)

//go:embed crds/helmreleases.yaml
var helmReleases []byte

//go:embed crds/manifests.yaml
var manifests []byte

// Definitions are the custom resource definitions, as YAML by file name.
func Definitions() map[string][]byte {
	return map[string][]byte{"helmreleases.yaml": helmReleases, "manifests.yaml": manifests}
}
