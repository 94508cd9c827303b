package manifest

import (
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/suggest"
)

// validate checks rules that involve more than one key.
func (m *Manifest) validate(d *config.Document) {
	spec := field.NewPath("spec")
	names, keys := map[string]*field.Path{}, map[string]*field.Path{}
	checkProperties(d, spec.Child("defaults", "properties"), m.Spec.Defaults.Properties)
	for n, i := range m.Spec.Images {
		at := spec.Child("images").Index(n)
		unique(d, at.Child("name"), i.Name, names)
		if i.Key != "" {
			unique(d, at.Child("key"), i.Key, keys)
		}
		i.checkSource(d, at)
		i.checkDescription(d, at)
		i.checkSignature(d, at)
		checkProperties(d, at.Child("properties"), i.Properties)
		if len(i.Share) > 0 && i.Visibility != "" && i.Visibility != VisibilityShared {
			d.Add(at.Child("share"), "set visibility: shared, or leave share out", "only shared images can be shared with projects, but this one is %s", i.Visibility)
		}
		if i.Convert == FormatRaw && i.Format == FormatRaw {
			d.Add(at.Child("convert"), "leave it out", "the image is raw already")
		}
	}
}

func unique(d *config.Document, at *field.Path, text string, known map[string]*field.Path) {
	if first := known[text]; first != nil && text != "" {
		d.Add(at, "choose another", "%q is already %s", text, first)
		return
	}
	known[text] = at
}

func (i Image) checkSource(d *config.Document, at *field.Path) {
	given := 0
	for _, text := range []string{i.URL, string(i.File), i.Bundle} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		d.Add(at, "give one of url, file and bundle", "%d sources are given for the image", given)
	}
	if i.URL != "" {
		if u, err := url.Parse(i.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			d.Add(at.Child("url"), "write a URL such as https://example.org/node.qcow2, without a login", "this is not an http or https URL")
		}
		if i.Digest() == "" && (i.Signature == nil || i.Signature.Checksums == "") {
			d.Add(at, "add sha512 (or sha256), or a signature with checksums", "there is no digest of the content of the URL")
		}
	}
	for name, digest := range map[string]string{"sha256": i.SHA256, "sha512": i.SHA512} {
		size := map[string]int{"sha256": 32, "sha512": 64}[name]
		if raw, err := hex.DecodeString(digest); digest != "" && (err != nil || len(raw) != size) {
			d.Add(at.Child(name), "copy the whole digest", "a %s digest has %d hexadecimal digits, but this has %d characters", name, 2*size, len(digest))
		}
	}
}

func (i Image) checkDescription(d *config.Document, at *field.Path) {
	if v := i.KubernetesVersion; v != "" {
		if !completeVersion(v) {
			d.Add(at.Child("kubernetesVersion"), "write the full version, such as v1.34.2", "%q is not a Kubernetes version", v)
		}
		if i.OS.Distro == "" && i.Properties["os_distro"] == "" {
			d.Add(at.Child("os", "distro"), "write ubuntu or flatcar", "Magnum refuses a node image without os_distro")
		}
	}
	if i.BuildDate != "" && !isDate(i.BuildDate) {
		d.Add(at.Child("buildDate"), `write it as "2026-01-31"`, "%q is not a date", i.BuildDate)
	}
	for n, tag := range i.Tags {
		if len(tag) > 255 || tag == "" {
			d.Add(at.Child("tags").Index(n), "", "a tag has 1 to 255 characters")
		}
	}
}

func (i Image) checkSignature(d *config.Document, at *field.Path) {
	s := i.Signature
	if s == nil {
		return
	}
	at = at.Child("signature")
	if (s.PublicKey == "") == (s.PublicKeyFile == "") {
		d.Add(at, "give publicKey or publicKeyFile", "a signature is verified with exactly one public key")
	}
	if s.Checksums != "" && i.URL == "" && i.File == "" {
		d.Add(at.Child("checksums"), "leave it out: the bundle has the digest", "the checksums are for a file, but there is no file")
	}
}

// WithV writes a version with the leading v; "" stays "".
func WithV(version string) string {
	if version == "" || strings.HasPrefix(version, "v") {
		return version
	}
	return "v" + version
}

var threeNumbers = regexp.MustCompile(`^v\d+\.\d+\.\d+`)

func completeVersion(v string) bool {
	return semver.IsValid(WithV(v)) && threeNumbers.MatchString(WithV(v))
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// checkProperties refuses properties that are not the user's to set, wrong
// values of those that have a fixed set, and names that look like typing
// mistakes of known ones: Nova ignores what it does not know.
func checkProperties(d *config.Document, at *field.Path, properties map[string]string) {
	names := knownNames()
	for name, value := range properties {
		at := at.Key(name)
		if owner := reservedFor(name); owner != "" {
			d.Add(at, "leave it out", "the property is %s own", owner)
			continue
		}
		if len(name) > 255 || len(value) > 255 {
			d.Add(at, "", "names and values of properties have at most 255 characters")
		}
		if check, ok := known()[name]; ok {
			if remedy := check(value); remedy != "" {
				d.Add(at, remedy, "%q is not a valid value of %s", value, name)
			}
			continue
		}
		if near := suggest.Nearest(name, names); near != "" && !slices.Contains(names, name) && looksKnown(name) {
			d.Add(at, "did you mean "+near+"?", "no service knows the property %q", name)
		}
	}
}

// looksKnown says that a name is in a name space of Nova's or Glance's.
func looksKnown(name string) bool {
	return strings.HasPrefix(name, "hw_") || strings.HasPrefix(name, "os_") || strings.HasPrefix(name, "kube")
}

// reservedFor says whose a property is that nobody else can set.
func reservedFor(name string) string {
	base := []string{"id", "name", "owner", "status", "visibility", "tags", "size", "virtual_size", "checksum", "min_disk", "min_ram", "protected",
		"disk_format", "container_format", "created_at", "updated_at", "file", "schema", "self", "stores", "locations", "direct_url"}
	switch {
	case slices.Contains(base, name), strings.HasPrefix(name, "os_glance_"), strings.HasPrefix(name, "os_hash_"), name == "os_hidden":
		return "Glance's"
	case strings.HasPrefix(name, "slipway_"):
		return "Slipway's"
	}
	return ""
}
