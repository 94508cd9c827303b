package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// azimuthImage is an entry of azimuth-images' manifest.json, or of the
// variable community_images, which has the same under other names.
type azimuthImage struct {
	Name              string   `json:"name"`
	URL               string   `json:"url"`
	SourceURL         string   `json:"source_url"`
	SourceDiskFormat  string   `json:"source_disk_format"`
	Checksum          string   `json:"checksum"`
	SHA512            string   `json:"checksum_sha512"`
	KubernetesVersion string   `json:"kubernetes_version"`
	Visibility        string   `json:"visibility"`
	Properties        []string `json:"properties"`
}

func readAzimuth(source config.Source) (*Manifest, error) {
	var list map[string]azimuthImage
	if err := yaml.Unmarshal(source.Text, &list); err != nil {
		return nil, fault.Usage(source.Name, fmt.Errorf("reading it as azimuth-images' list: %w", err), "see docs/guides/images.md for the forms that are read")
	}
	m := blank()
	for _, key := range slices.Sorted(maps.Keys(list)) {
		in := list[key]
		out := Image{Key: key, Name: in.Name, URL: cmp.Or(in.URL, in.SourceURL), Format: cmp.Or(in.SourceDiskFormat, FormatQcow2),
			KubernetesVersion: in.KubernetesVersion, Visibility: in.Visibility, SHA512: digestOf(in.SHA512, "sha512"),
			OS: OS{Type: "linux"}, Properties: map[string]string{}}
		out.SHA256 = digestOf(in.Checksum, "sha256")
		out.SHA512 = cmp.Or(out.SHA512, digestOf(in.Checksum, "sha512"))
		if in.KubernetesVersion != "" {
			out.OS.Distro = "ubuntu" // what azimuth-images builds its nodes on
		}
		for _, pair := range in.Properties {
			name, value, _ := strings.Cut(pair, "=")
			out.Properties[name] = value
		}
		m.Spec.Images = append(m.Spec.Images, out)
	}
	return m.finish(source.Name)
}

// osismImage is an entry of a list of OSISM's openstack-image-manager.
type osismImage struct {
	Name string `json:"name"`
	// Enable false leaves the image out.
	Enable     *bool          `json:"enable"`
	Format     string         `json:"format"`
	Login      string         `json:"login"`
	MinDisk    int            `json:"min_disk"`
	MinRAM     int            `json:"min_ram"`
	Visibility string         `json:"visibility"`
	Hidden     bool           `json:"hidden"`
	Multi      bool           `json:"multi"`
	Separator  *string        `json:"separator"`
	Meta       map[string]any `json:"meta"`
	Tags       []string       `json:"tags"`
	Versions   []osismVersion `json:"versions"`
}

// osismVersion is one version of an image; what it says goes before what the image says.
type osismVersion struct {
	Version json.RawMessage `json:"version"`
	URL     string          `json:"url"`
	// MirrorURL is where the file is fetched from, while URL is told as its source.
	MirrorURL  string          `json:"mirror_url"`
	Checksum   string          `json:"checksum"`
	BuildDate  string          `json:"build_date"`
	Visibility string          `json:"visibility"`
	Hidden     bool            `json:"hidden"`
	OSVersion  json.RawMessage `json:"os_version"`
	Meta       map[string]any  `json:"meta"`
}

func readOSISM(source config.Source) (*Manifest, error) {
	var list struct {
		Images []osismImage `json:"images"`
	}
	if err := yaml.Unmarshal(source.Text, &list); err != nil {
		return nil, fault.Usage(source.Name, fmt.Errorf("reading it as OSISM's list: %w", err), "see docs/guides/images.md for the forms that are read")
	}
	m := blank()
	for _, in := range list.Images {
		if in.Enable != nil && !*in.Enable {
			continue
		}
		if len(in.Versions) == 0 {
			return nil, fault.Usage(source.Name+": image "+in.Name, errors.New("it has no versions"), "give it versions, each with a url and a checksum")
		}
		slices.SortStableFunc(in.Versions, func(a, b osismVersion) int { return compareVersions(a.text(), b.text()) })
		for n, v := range in.Versions {
			m.Spec.Images = append(m.Spec.Images, in.image(v, n == len(in.Versions)-1))
		}
	}
	return m.finish(source.Name)
}

// text is the version.
func (v osismVersion) text() string { return unquoted(v.Version) }

// unquoted is a version, which lists write with and without quotes.
func unquoted(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

// compareVersions orders semantic versions as such, and all others, dates
// above all, as text.
func compareVersions(a, b string) int {
	if semver.IsValid(WithV(a)) && semver.IsValid(WithV(b)) {
		return semver.Compare(WithV(a), WithV(b))
	}
	return strings.Compare(a, b)
}

// image is one version. With `multi` the newest has the plain name and the
// others the version in brackets behind the separator; without, all have it there.
func (in osismImage) image(v osismVersion, newest bool) Image {
	separator := " "
	if in.Separator != nil {
		separator = *in.Separator
	}
	name := in.Name + separator + v.text()
	if in.Multi {
		name = fmt.Sprintf("%s%s(%s)", in.Name, separator, v.text())
		if newest {
			name = in.Name
		}
	}
	out := Image{Name: name, URL: cmp.Or(v.MirrorURL, v.URL), Format: cmp.Or(in.Format, FormatQcow2), SHA256: digestOf(v.Checksum, "sha256"), SHA512: digestOf(v.Checksum, "sha512"),
		MinDisk: in.MinDisk, MinRAM: in.MinRAM, Visibility: cmp.Or(v.Visibility, in.Visibility), Hidden: in.Hidden || v.Hidden, Tags: in.Tags,
		OS: OS{Type: "linux", AdminUser: in.Login}, Properties: map[string]string{}}
	if date, err := time.Parse(time.DateOnly, strings.SplitN(v.BuildDate, "T", 2)[0]); err == nil {
		out.BuildDate = date.Format(time.DateOnly)
	}
	if v.MirrorURL != "" && v.URL != "" {
		out.Properties["image_source"] = v.URL
	}
	for _, meta := range []map[string]any{in.Meta, v.Meta} {
		for key, value := range meta {
			out.Properties[key] = fmt.Sprint(value)
		}
	}
	out.OS.Distro, out.OS.Version = take(out.Properties, "os_distro"), cmp.Or(unquoted(v.OSVersion), take(out.Properties, "os_version"))
	out.Architecture = take(out.Properties, "architecture")
	out.KubernetesVersion = cmp.Or(take(out.Properties, "kubernetes_version"), out.Properties["kube_version"])
	delete(out.Properties, "kube_version")
	if out.KubernetesVersion == "" && strings.Contains(strings.ToLower(in.Name), "capi") && completeVersion(v.text()) {
		out.KubernetesVersion = v.text() // the lists of k8s-capi-images say it nowhere else
	}
	return out
}

func take(from map[string]string, key string) string {
	value := from[key]
	delete(from, key)
	return value
}

// digestOf is the hex digest in "sha256:…" or in bare hex of that algorithm's
// length; "" for all others, MD5 too: it identifies nothing.
func digestOf(text, algorithm string) string {
	name, hex, found := strings.Cut(text, ":")
	if !found {
		hex = text
		name = map[int]string{64: "sha256", 128: "sha512"}[len(hex)]
	}
	if name != algorithm {
		return ""
	}
	return strings.ToLower(hex)
}
