// Package artifact moves whole bundles: as an artifact in a registry, or as one
// archive where there is no network. A bundle is signed by its bill of
// materials, which has the digest of every item; nothing is accepted that the
// bill does not name.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// The media types of a bundle in a registry
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md#guidelines-for-artifact-usage).
// The bill is the configuration, all else are layers.
const (
	Type          = "application/vnd.slipway.bundle.v1"
	BillType      = "application/vnd.slipway.bundle.bill.v1+yaml"
	SignatureType = "application/vnd.slipway.bundle.signature.v1"
	BlobType      = "application/vnd.slipway.bundle.blob.v1"
)

// What bounds the parts that are read into memory, in bytes.
const (
	MaxBill      = 16 << 20
	MaxSignature = 64 << 10
	// MaxManifest is also the limit of most registries.
	MaxManifest = 4 << 20
)

// Scheme begins the address of a bundle in a registry.
const Scheme = "oci://"

// Manifest is the manifest of a bundle in a registry.
type Manifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	MediaType     types.MediaType `json:"mediaType"`
	ArtifactType  string          `json:"artifactType"`
	Config        v1.Descriptor   `json:"config"`
	Layers        []v1.Descriptor `json:"layers"`
}

// Reference reads an address such as oci://registry.example.org/slipway/bundle:v1.
func Reference(address string) (name.Reference, error) {
	text, ok := strings.CutPrefix(address, Scheme)
	if !ok {
		return nil, fault.Usage(address, errors.New("no address of a bundle in a registry"), "give one such as oci://registry.example.org/slipway/bundle:v0.1.0")
	}
	ref, err := name.ParseReference(text, name.StrictValidation)
	if err != nil {
		return nil, fault.Usage(address, errors.New("registry, repository and tag (or digest) are needed"), "give one such as oci://registry.example.org/slipway/bundle:v0.1.0")
	}
	return ref, nil
}

// Describe returns the manifest of a folder's bundle and its bytes. Equal bundles
// have equal bytes.
func Describe(folder *bundle.Folder) (Manifest, []byte, error) {
	bill, signature, err := folder.BillText()
	if err != nil {
		return Manifest{}, nil, err
	}
	m := Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: Type, Config: descriptor(BillType, bill), Layers: []v1.Descriptor{}}
	if signature != nil {
		m.Layers = append(m.Layers, descriptor(SignatureType, signature))
	}
	blobs, err := Blobs(folder, folder.Bill())
	if err != nil {
		return Manifest{}, nil, err
	}
	for _, blob := range blobs {
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: BlobType, Size: blob.Size, Digest: v1.Hash{Algorithm: "sha256", Hex: blob.SHA256}})
	}
	raw, err := json.Marshal(m)
	return m, raw, err
}

func descriptor(mediaType types.MediaType, content []byte) v1.Descriptor {
	sum := sha256.Sum256(content)
	return v1.Descriptor{MediaType: mediaType, Size: int64(len(content)), Digest: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}}
}

// Blobs are those of a bill, each once, in the bill's order; an image's manifest
// comes before its parts.
func Blobs(folder *bundle.Folder, bill *bundle.Bill) ([]bundle.Digest, error) {
	var all []bundle.Digest
	seen := map[string]bool{}
	for _, item := range bill.Items {
		blobs, err := folder.Blobs(item)
		if err != nil {
			return nil, fault.New(item.Name, err, "check the whole bundle with slipway bundle verify --dir "+folder.Dir())
		}
		for _, blob := range blobs {
			if !seen[blob.SHA256] {
				seen[blob.SHA256] = true
				all = append(all, blob)
			}
		}
	}
	return all, nil
}

// ParseManifest reads a manifest from a registry.
func ParseManifest(raw []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	switch {
	case m.Config.MediaType != BillType:
		return nil, fmt.Errorf("this is no bundle of Slipway: its configuration is %q", m.Config.MediaType)
	case m.Config.Size > MaxBill:
		return nil, fmt.Errorf("the bill has %d bytes, but at most %d are allowed", m.Config.Size, MaxBill)
	}
	return m, nil
}

// Signature is the descriptor of the bill's signature, or nil.
func (m *Manifest) Signature() *v1.Descriptor {
	i := slices.IndexFunc(m.Layers, func(d v1.Descriptor) bool { return d.MediaType == SignatureType })
	if i < 0 || m.Layers[i].Size > MaxSignature {
		return nil
	}
	return &m.Layers[i]
}
