package helm

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// same reports whether the latest revision is the desired one and fully deployed.
func same(last *release.Release, w Wanted) bool {
	return last.Info.Status == release.StatusDeployed && sameJSON(last.Config, w.Values) && Digest(last.Chart) == Digest(w.Chart)
}

// sameJSON compares values as Helm stores them: in JSON, where 1 and 1.0 are the same
// number, and nothing and {} the same values.
func sameJSON(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	first, err := json.Marshal(a)
	if err != nil {
		return false
	}
	second, err := json.Marshal(b)
	return err == nil && bytes.Equal(first, second)
}

// Digest is a digest of everything that a chart is rendered from. Its version is not
// enough: a chart under development changes without a new version.
func Digest(c *chart.Chart) [sha256.Size]byte {
	h := sha256.New()
	var add func(c *chart.Chart)
	add = func(c *chart.Chart) {
		encode := json.NewEncoder(h)
		// Hashing does not fail, and these encode whatever they hold.
		_ = encode.Encode(c.Metadata)
		_ = encode.Encode(c.Templates)
		_ = encode.Encode(c.Files)
		_ = encode.Encode(c.Values)
		for _, dependency := range c.Dependencies() {
			add(dependency)
		}
	}
	add(c)
	return [sha256.Size]byte(h.Sum(nil))
}
