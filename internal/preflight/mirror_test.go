package preflight

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// TestABundleThatFollowsAnotherWantsAMirror: the nodes' image in the cloud is of
// the bundle before, and nothing would serve its images to newer nodes.
func TestABundleThatFollowsAnotherWantsAMirror(t *testing.T) {
	t.Parallel()
	const cluster, mirrored = "managementCluster: {}", "managementCluster: {}, registries: {registry.k8s.io: {mirrors: ['https://mirror.example']}}"
	for name, c := range map[string]struct {
		spec   string
		images []string
		want   bool
	}{
		"another bundle":        {cluster, []string{"older"}, true},
		"the first bundle":      {cluster, nil, false},
		"the same bundle":       {cluster, []string{"newer"}, false},
		"half-way":              {cluster, []string{"older", "newer"}, false},
		"with a mirror":         {mirrored, []string{"older"}, false},
		"with credentials only": {"managementCluster: {}, registries: {registry.k8s.io: {username: me, passwordFile: p}}", []string{"older"}, true},
		"an image of the cloud": {"managementCluster: {image: debian}", []string{"older"}, false},
		"no management cluster": {"", []string{"older"}, false},
	} {
		s := healthy()
		for _, of := range []string{"other", "prod"} {
			for _, sha := range c.images {
				if of == "other" {
					sha = "foreign"
				}
				s.Images = append(s.Images, cloud.ImageInfo{Resource: cloud.Resource{ID: of + sha, Name: of + "-node-image"}, Status: "active",
					Properties: map[string]string{"slipway_env": of, "slipway_step": "node-image", "slipway_sha256": sha}})
			}
		}
		s.Images = append(s.Images, cloud.ImageInfo{Resource: cloud.Resource{ID: "seed", Name: "prod-seed-image"}, Status: "active",
			Properties: map[string]string{"slipway_env": "prod", "slipway_step": "seed-image", "slipway_sha256": "of a seed"}})
		r := Run(Input{Environment: environment(t, c.spec), Snapshot: s, Now: now, Bundle: Bundle{Dir: "b", NodeImage: "newer"}})
		warned := false
		for _, text := range told(r, Warning) {
			warned = warned || strings.HasPrefix(text, "mirror bundle b: the nodes were created from another bundle")
		}
		if warned != c.want {
			t.Errorf("%s: warned %v, want %v: %q", name, warned, c.want, told(r, Warning))
		}
	}
}
