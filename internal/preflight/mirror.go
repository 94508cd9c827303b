package preflight

import (
	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// nodeImageStep is the step whose mark the bundle's image of nodes carries.
const nodeImageStep = "node-image"

// checkMirror warns where nodes are made of another bundle than this one and no
// mirror is named. A node brings the images of one bundle: while the nodes are
// replaced, pods that go from the one kind to the other wait for theirs, and the
// kube-proxy of another version is never there.
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
		r.find(Warning, "bundle "+r.Bundle.Dir, "where machines do not reach the internet, name a mirror in spec.registries first: `slipway bundle serve` with both bundles",
			"the nodes are made of another one, and each brings the images of its own only: until all are replaced, what runs on them may wait for images")
	}
}

// mirrored reports whether a mirror of any registry is named.
func mirrored(registries map[string]config.Registry) bool {
	for _, registry := range registries {
		if len(registry.Mirrors) > 0 {
			return true
		}
	}
	return false
}
