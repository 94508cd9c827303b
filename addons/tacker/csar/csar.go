// Package csar makes the packages by which Tacker, or another VNF manager of ETSI NFV,
// has a management cluster and workload clusters: CSARs as in SOL004, with a VNFD as in
// SOL001 and a management script. A package has the same bytes whenever and wherever it
// is made.
package csar

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The files that every package has.
const (
	metaFile    = "TOSCA-Metadata/TOSCA.meta"
	definitions = "Definitions/"
	scripts     = "Scripts/"
	// Manifests is the folder of charts and manifests, by which requests name them.
	Manifests = "Files/kubernetes/"
)

// Package is the content of a CSAR.
type Package struct {
	// Name is the cluster's or that of the management cluster's package.
	Name string
	// ID is the vnfdId: another one if and only if the content is another.
	ID      string
	Variant Variant
	VNFD    VNFD
	// Deploy are the paths of what is deployed, in order: one chart, or manifests.
	Deploy []string
	files  map[string][]byte
}

// Variant is how a package's objects reach Kubernetes.
type Variant string

// The variants: a chart for Tacker's Helm driver, or plain manifests.
const (
	Helm Variant = "helm"
	Raw  Variant = "raw"
)

// Variants lists them.
func Variants() []string { return []string{string(Helm), string(Raw)} }

// namespace is of the vnfdIds that Slipway makes (UUID version 5).
var namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/slipway-sh/slipway/tacker"))

// seal adds what follows from the rest: the VNFD with the id of the content, and
// TOSCA.meta. The id is that of the package with an id of zeros.
func (p *Package) seal() error {
	p.VNFD.ID = uuid.Nil.String()
	if err := p.define(); err != nil {
		return err
	}
	sum := sha256.New()
	for _, name := range p.names() {
		fmt.Fprintf(sum, "%s %d\n", name, len(p.files[name]))
		sum.Write(p.files[name])
	}
	p.ID = uuid.NewSHA1(namespace, sum.Sum(nil)).String()
	p.VNFD.ID = p.ID
	if err := p.define(); err != nil {
		return err
	}
	p.files[metaFile] = p.meta()
	return nil
}

// define writes the definitions of the VNFD.
func (p *Package) define() error {
	texts, err := p.VNFD.definitions(p.Name)
	if err != nil {
		return err
	}
	for name, text := range texts {
		p.files[definitions+name] = text
	}
	return nil
}

func (p *Package) names() []string { return slices.Sorted(maps.Keys(p.files)) }

// meta is TOSCA.meta: a block about the package and one for each artifact, with its
// digest, which Tacker checks when the package is onboarded.
func (p *Package) meta() []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "TOSCA-Meta-File-Version: 1.0\nCreated-by: Slipway\nCSAR-Version: 1.1\nEntry-Definitions: %s%s\n", definitions, topFile(p.Name))
	for _, name := range p.names() {
		if kind := contentType(name); kind != "" {
			fmt.Fprintf(&text, "\nName: %s\nContent-Type: %s\nAlgorithm: SHA-256\nHash: %s\n", name, kind, digest(p.files[name]))
		}
	}
	return []byte(text.String())
}

// contentType is that of an artifact; "" for what is none.
func contentType(name string) string {
	switch {
	case strings.HasPrefix(name, Manifests) && strings.HasSuffix(name, ".tgz"):
		return "application/gzip"
	case strings.HasPrefix(name, Manifests):
		return "application/yaml"
	case strings.HasPrefix(name, scripts) && strings.HasSuffix(name, ".py"):
		return "text/x-python"
	case strings.HasPrefix(name, scripts):
		return "application/json"
	}
	return ""
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// epoch is the time of every file in a package: the first that zip can say.
func epoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// Zip is the package as a file.
func (p *Package) Zip() ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range p.names() {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch()})
		if err == nil {
			_, err = f.Write(p.files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", p.Name, err)
	}
	return b.Bytes(), nil
}
