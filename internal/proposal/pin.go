package proposal

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"

	"github.com/slipway-sh/slipway/internal/config"
)

// Kind is what a pin is of.
type Kind string

// The kinds of pins.
const (
	Bundle     Kind = "bundle"
	Image      Kind = "image"
	Kubernetes Kind = "kubernetes"
)

// Pin is a version that a file names.
type Pin struct {
	Kind Kind `json:"kind"`
	// File is relative to the root of the repository; Line counts from 1.
	File string `json:"file"`
	Line int    `json:"line"`
	// Repository of a bundle or image, as REGISTRY/REPOSITORY.
	Repository string `json:"repository,omitempty"`
	Version    string `json:"version"`
	// Digest is sha256:…, if the file names it.
	Digest string `json:"digest,omitempty"`

	start, end int // of version and digest, in bytes of the file
}

// Change is a pin with its newer version.
type Change struct {
	Pin
	To string `json:"to"`
	// ToDigest is set for a pin with a digest.
	ToDigest string `json:"toDigest,omitempty"`
}

// version is a release as registries' tags have it: no build metadata.
const version = `:(v[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?)(?:@(sha256:[0-9a-f]{64}))?`

var bundlePin = regexp.MustCompile(`oci://([a-zA-Z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9._-]+)+)` + version)

// Find returns the pins of a file's text in their order. Images are the repositories of
// images whose tags are pins, too.
func Find(file string, text []byte, images []string) []Pin {
	pins := references(Bundle, file, text, bundlePin)
	for _, image := range images {
		// Neither the end of a longer name, nor an artifact's address.
		pins = append(pins, references(Image, file, text, regexp.MustCompile(`(?:^|[\s"'=])(`+regexp.QuoteMeta(image)+`)`+version))...)
	}
	return append(pins, kubernetesPins(file, text)...)
}

func references(kind Kind, file string, text []byte, pattern *regexp.Regexp) (pins []Pin) {
	for _, at := range pattern.FindAllSubmatchIndex(text, -1) {
		pin := Pin{Kind: kind, File: file, Line: 1 + bytes.Count(text[:at[2]], []byte("\n")), Repository: string(text[at[2]:at[3]]),
			Version: string(text[at[4]:at[5]]), start: at[4], end: at[5]}
		if at[6] >= 0 {
			pin.Digest, pin.end = string(text[at[6]:at[7]]), at[7]
		}
		pins = append(pins, pin)
	}
	return pins
}

// kubernetesPins are those of environment files, also of layers that say their kind.
func kubernetesPins(file string, text []byte) (pins []Pin) {
	if !strings.HasSuffix(file, ".yaml") && !strings.HasSuffix(file, ".yml") {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) || err != nil {
			return pins // a template is no YAML, and pins no Kubernetes
		}
		if len(document.Content) == 0 || !isEnvironment(document.Content[0]) {
			continue
		}
		node := document.Content[0]
		for _, key := range []string{"spec", "managementCluster", "kubernetesVersion"} {
			if node = child(node, key); node == nil {
				break
			}
		}
		if node == nil || !semver.IsValid(node.Value) {
			continue
		}
		if start := offset(text, node); start >= 0 {
			pins = append(pins, Pin{Kind: Kubernetes, File: file, Line: node.Line, Version: node.Value, start: start, end: start + len(node.Value)})
		}
	}
}

// isEnvironment reports whether a document is an environment file, or a layer of one, which
// need not say what it is.
func isEnvironment(node *yaml.Node) bool {
	version, kind := child(node, "apiVersion"), child(node, "kind")
	return (version == nil || version.Value == config.APIVersion) && (kind == nil || kind.Value == config.Kind)
}

// child is the value of a mapping's key, or nil.
func child(node *yaml.Node, key string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// offset is where a scalar's value begins in a text, in bytes, or -1 if it is not written
// there as it is, as in an alias.
func offset(text []byte, node *yaml.Node) int {
	start := 0
	for range node.Line - 1 {
		next := bytes.IndexByte(text[start:], '\n')
		if next < 0 {
			return -1
		}
		start += next + 1
	}
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	from := min(node.Column-1, len(line))
	at := bytes.Index(line[from:], []byte(node.Value))
	if at < 0 || at > 1 { // 1 is a quote
		return -1
	}
	return start + from + at
}

// Apply returns the text with the changes of its file.
func Apply(text []byte, changes []Change) []byte {
	var out []byte
	done := 0
	for _, c := range sorted(changes) {
		out = append(out, text[done:c.start]...)
		out = append(out, c.To...)
		if c.ToDigest != "" {
			out = append(out, "@"+c.ToDigest...)
		}
		done = c.end
	}
	return append(out, text[done:]...)
}
