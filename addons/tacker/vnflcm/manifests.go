// Package vnflcm is a VNF lifecycle management endpoint for those who have no Tacker:
// SOL003 as Tacker's v2 API takes it, for packages of Cluster API. The custom resources
// that are its state, the REST API and the worker are in packages below.
package vnflcm

import (
	"embed"

	"github.com/slipway-sh/slipway/addons/openstackapi"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.19.0 object paths=./v1alpha1/... crd output:crd:dir=crds

//go:embed crds/*.yaml
var crds embed.FS

// CRDs returns the definitions of the custom resources by file name, each one
// YAML document.
func CRDs() (map[string][]byte, error) { return openstackapi.Definitions(crds) }
