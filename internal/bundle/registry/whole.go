package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
)

// BundleRepository is the name of the repository of the bundles themselves, and
// LatestTag the tag of the first. The others have the start of their digest.
const (
	BundleRepository = "slipway/bundle"
	LatestTag        = "latest"
	tagLength        = 12
)

// addBundle serves a whole bundle as slipway bundle pull takes it.
func (r *Registry) addBundle(folder *bundle.Folder) error {
	about, raw, err := artifact.Describe(folder)
	if err != nil {
		return err
	}
	bill, signature, err := folder.BillText()
	if err != nil {
		return err
	}
	r.texts[about.Config.Digest.String()] = bill
	for _, layer := range about.Layers {
		if layer.MediaType == artifact.SignatureType {
			r.texts[layer.Digest.String()] = signature
			continue
		}
		path, err := filepath.Abs(folder.Blob(layer.Digest.Hex))
		if err != nil {
			return err
		}
		r.blobs[layer.Digest.String()] = path
	}
	sum := sha256.Sum256(raw)
	digest := hex.EncodeToString(sum[:])
	m := manifest{raw, string(about.MediaType), "sha256:" + digest}
	if r.repositories[BundleRepository] == nil {
		r.repositories[BundleRepository] = map[string]manifest{LatestTag: m}
	}
	r.repositories[BundleRepository][m.digest], r.repositories[BundleRepository][digest[:tagLength]] = m, m
	return nil
}
