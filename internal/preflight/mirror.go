package preflight

import (
	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// nodeImageStep is the step whose ownership tag the bundle's node image carries.
const nodeImageStep = "node-image"

// checkMirror warns if nodes were created from another bundle and there is no
// mirror. A node has the images of one bundle only: while nodes are replaced, pods
// that move between old and new nodes wait for their images, and the kube-proxy of
// the other version never starts.
func checkMirror(r *run) {
	m := r.spec.ManagementCluster
	if m == nil || m.Image != "" || r.Bundle.NodeImage == "" || mirrored(r.spec.Registries) {
		return
	}
	former := false
	for _, image := range r.Snapshot.Images {
		mark, ours := ownership.FromMetadata(image.Properties)
		if !ours || mark != ownership.New(r.Environment.Metadata.Name, nodeImageStep) {
			continue
		}
		if image.Properties[images.PropertySHA256] == r.Bundle.NodeImage {
			return
		}
		former = true
	}
	if former {
		r.find(Warning, "bundle "+r.Bundle.Dir, "if machines cannot reach the internet, first run `slipway bundle serve` with both bundles and name it as a mirror in spec.registries",
			"the nodes were created from another bundle, and a node has only the images of its own bundle: until all nodes are replaced, pods may wait for images")
	}
}

// mirrored reports whether any registry has a mirror.
func mirrored(registries map[string]config.Registry) bool {
	for _, registry := range registries {
		if len(registry.Mirrors) > 0 {
			return true
		}
	}
	return false
}
