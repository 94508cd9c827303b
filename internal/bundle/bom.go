// Package bundle is the folder that holds everything Slipway puts on machines:
// binaries, images, manifests, charts and machine images, each with a digest,
// under a bill of materials. Sub-packages build one from source and pull one
// from upstream.
package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

// APIVersion and BillKind head every bill of materials.
const (
	APIVersion = "slipway.sh/v1alpha1"
	BillKind   = "Bundle"
)

// BillFile is the bill of materials in a bundle's folder.
const BillFile = "bundle.yaml"

// Kind is what an item is.
type Kind string

// The kinds of items.
const (
	// Binary is one executable file.
	Binary Kind = "binary"
	// Image is a container image; its digest is the OCI manifest's.
	Image Kind = "image"
	// Manifest is Kubernetes or clusterctl YAML.
	Manifest Kind = "manifest"
	// Chart is a Helm chart archive.
	Chart Kind = "chart"
	// Machine is a root file system image of a node.
	Machine Kind = "machine"
)

// Kinds lists the kinds in the order in which people read them.
func Kinds() []Kind { return []Kind{Machine, Binary, Image, Manifest, Chart} }

// Bill is a bill of materials: everything in a bundle, sorted by name.
type Bill struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Platform is what binaries and images are for, as "linux/amd64".
	Platform string `json:"platform"`
	Items    []Item `json:"items"`
	// Missing are the items that this bundle cannot have, and why.
	Missing []Missing `json:"missing,omitempty"`
}

// Item is one thing in a bundle.
type Item struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Version string `json:"version"`
	// Source is where the bytes come from: "module PATH@VERSION PACKAGE",
	// "debian SUITE", a URL or an image reference.
	Source string `json:"source"`
	// License is an SPDX expression.
	License string `json:"license"`
	// Size is in bytes; for an image the sum of its manifest, configuration and layers.
	Size int64 `json:"size"`
	// SHA256 is the hex digest of the file, or of an image's manifest.
	SHA256 string `json:"sha256"`
	// Path is the item's name within the folder, a link to the blob.
	Path string `json:"path,omitempty"`
	// Ref is the reference under which container runtimes know an image.
	Ref string `json:"ref,omitempty"`
	// Recipe identifies all inputs of a build; an item whose recipe did not
	// change is not built again. Empty for pulled items.
	Recipe string `json:"recipe,omitempty"`
	// Properties of a machine, in the names of Glance: os_distro, os_version, kube_version.
	Properties map[string]string `json:"properties,omitempty"`
	// Packages are the distribution's packages in a machine or image, as name=version.
	Packages []string `json:"packages,omitempty"`
	// Contains names the items whose bytes are inside this one, with the digest
	// that they had.
	Contains map[string]string `json:"contains,omitempty"`
}

// Missing is an item that is not in the bundle, with the reason.
type Missing struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// NewBill returns an empty bill for a platform such as "linux/amd64".
func NewBill(platform string) *Bill {
	return &Bill{APIVersion: APIVersion, Kind: BillKind, Platform: platform}
}

// Item returns the item of that name, or nil.
func (b *Bill) Item(name string) *Item {
	for i := range b.Items {
		if b.Items[i].Name == name {
			return &b.Items[i]
		}
	}
	return nil
}

// Set adds an item or replaces the one of the same name, keeping the order.
func (b *Bill) Set(item Item) {
	b.Missing = slices.DeleteFunc(b.Missing, func(m Missing) bool { return m.Name == item.Name })
	if old := b.Item(item.Name); old != nil {
		*old = item
		return
	}
	b.Items = append(b.Items, item)
	slices.SortFunc(b.Items, func(x, y Item) int { return strings.Compare(x.Name, y.Name) })
}

// apiVersions is the form of an API version of this group: v1, v1alpha1, v2beta3.
var apiVersions = regexp.MustCompile(`^slipway\.sh/v(\d+)((alpha|beta)(\d+))?$`)

// ParseBill decodes a bill strictly and checks each item. A bill of another
// API version, unknown keys, and every broken item are errors; name is used in
// their text.
func ParseBill(name string, text []byte) (*Bill, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, fault.Usage(name, fmt.Errorf("not a bill of materials: %w", err), "restore the file, or build the bundle again in an empty folder")
	}
	if head.Kind != BillKind || !apiVersions.MatchString(head.APIVersion) {
		return nil, fault.Usage(name, fmt.Errorf("apiVersion %q, kind %q: not a bundle", head.APIVersion, head.Kind), "name the folder of a bundle with --dir")
	}
	if head.APIVersion != APIVersion {
		return nil, fault.Usage(name, fmt.Errorf("apiVersion %s: this slipway reads %s only", head.APIVersion, APIVersion), "use the slipway that built the bundle, or a newer one")
	}
	bill := &Bill{}
	if err := yaml.UnmarshalStrict(text, bill); err != nil {
		return nil, fault.Usage(name, err, "restore the file, or build the bundle again in an empty folder")
	}
	return bill, bill.check(name)
}

var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (b *Bill) check(name string) error {
	var problems []error
	seen := map[string]bool{}
	for i, item := range b.Items {
		at := fmt.Sprintf("%s: items[%d] (%s)", name, i, item.Name)
		bad := func(format string, args ...any) {
			problems = append(problems, fault.Usage(at, fmt.Errorf(format, args...), "restore the file, or build the item again"))
		}
		switch {
		case item.Name == "":
			bad("name: missing")
		case seen[item.Name]:
			bad("name: given twice")
		}
		seen[item.Name] = true
		if !slices.Contains(Kinds(), item.Kind) {
			bad("kind: %q is not one of %v", item.Kind, Kinds())
		}
		if !hexDigest.MatchString(item.SHA256) {
			bad("sha256: %q is not a digest", item.SHA256)
		}
		if item.Path != "" && !filepath.IsLocal(item.Path) {
			bad("path: %q is outside the bundle", item.Path)
		}
		if item.Kind == Image && item.Ref == "" {
			bad("ref: an image needs one")
		}
	}
	return errors.Join(problems...)
}

// readBill reads the bill in a folder. fs.ErrNotExist is in the chain when there is none.
func readBill(dir string) (*Bill, error) {
	path := filepath.Join(dir, BillFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseBill(path, text)
}
