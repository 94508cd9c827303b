package component

import (
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// PinsKind heads a file of pins.
const PinsKind = "UpstreamPins"

//go:embed upstream.yaml
var upstreamPins []byte

// Pins say which bytes from upstream are accepted, one entry a component.
type Pins struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Entries    []Pin  `json:"entries"`
}

// Pin is the one content that is accepted for a component: either a file (URL,
// SHA256 and perhaps Member) or an image (Image and Digest).
type Pin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"url,omitempty"`
	// SHA256 is the hex digest of what is downloaded from URL.
	SHA256 string `json:"sha256,omitempty"`
	// Member is the file wanted within a .tar.gz; empty when the download itself is.
	Member string `json:"member,omitempty"`
	// Image is a reference with a tag.
	Image string `json:"image,omitempty"`
	// Digest is "sha256:" and the hex digest of the image's index or manifest.
	Digest string `json:"digest,omitempty"`
}

// Source is the pin in one line, as a bill of materials records it: the URL,
// with archive digest and member when there is a member, or image@digest.
func (p Pin) Source() string {
	switch {
	case p.Image != "":
		return p.Image + "@" + p.Digest
	case p.Member != "":
		return p.URL + "#sha256=" + p.SHA256 + "&member=" + p.Member
	}
	return p.URL
}

// content identifies the bytes that the pin accepts, wherever they come from.
func (p Pin) content() string { return strings.Join([]string{p.SHA256, p.Member, p.Digest}, "|") }

// NewPins returns pins without entries.
func NewPins() *Pins { return &Pins{APIVersion: bundle.APIVersion, Kind: PinsKind} }

// UpstreamPins returns the pins that come with Slipway.
func UpstreamPins() (*Pins, error) { return ParsePins("built-in pins", upstreamPins) }

// Pin returns the entry of a component.
func (p *Pins) Pin(name string) (Pin, bool) {
	i := slices.IndexFunc(p.Entries, func(e Pin) bool { return e.Name == name })
	if i < 0 {
		return Pin{}, false
	}
	return p.Entries[i], true
}

// Set adds an entry or replaces the one of the same name, keeping the order by name.
func (p *Pins) Set(pin Pin) {
	p.Entries = slices.DeleteFunc(p.Entries, func(e Pin) bool { return e.Name == pin.Name })
	p.Entries = append(p.Entries, pin)
	slices.SortFunc(p.Entries, func(a, b Pin) int { return strings.Compare(a.Name, b.Name) })
}

// Merge takes over the entries of a user's file, name. It may add components
// and say another place for the same bytes. An entry of the same version that
// accepts other bytes is an error, because it would undo the check silently.
func (p *Pins) Merge(name string, more *Pins) error {
	var problems []error
	for i, pin := range more.Entries {
		if old, ok := p.Pin(pin.Name); ok && old.Version == pin.Version && old.content() != pin.content() {
			problems = append(problems, fault.Usage(fmt.Sprintf("%s: entries[%d] (%s)", name, i, pin.Name),
				errors.New("accepts other bytes than the pin that comes with slipway"), "remove the entry; if upstream replaced the file, find out why before you trust it"))
			continue
		}
		p.Set(pin)
	}
	return errors.Join(problems...)
}

// YAML is the text of a file of pins, which ParsePins reads.
func (p *Pins) YAML() ([]byte, error) { return yaml.Marshal(p) }

// ParsePins decodes pins strictly and checks each entry; name is used in the
// text of errors. Versions are not compared with the catalogue: a pull refuses
// the entries that are of another version, one by one.
func ParsePins(name string, text []byte) (*Pins, error) {
	pins := &Pins{}
	if err := yaml.UnmarshalStrict(text, pins); err != nil {
		return nil, fault.Usage(name, err, "correct the file, or write it again with `slipway bundle pin`")
	}
	if pins.APIVersion != bundle.APIVersion || pins.Kind != PinsKind {
		return nil, fault.Usage(name, fmt.Errorf("apiVersion %q, kind %q: not %s, %s", pins.APIVersion, pins.Kind, bundle.APIVersion, PinsKind),
			"name a file that `slipway bundle pin` wrote")
	}
	var problems []error
	seen := map[string]bool{}
	for i, pin := range pins.Entries {
		err := pin.check()
		if seen[pin.Name] {
			err = errors.Join(err, errors.New("name: given twice"))
		}
		seen[pin.Name] = true
		for _, problem := range fault.All(err) {
			problems = append(problems, fault.Usage(fmt.Sprintf("%s: entries[%d] (%s)", name, i, pin.Name), problem, "correct the entry"))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return pins, nil
}

var (
	hexSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)
	tagged    = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+:[\w][\w.-]{0,127}$`)
)

func (p Pin) check() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	c, ok := Find(p.Name)
	if !ok {
		bad("name: the catalogue has no %q", p.Name)
	}
	if p.Version == "" {
		bad("version: missing")
	}
	if ok && (c.Kind == bundle.Image) != (p.Image != "") {
		bad("%s is of kind %s: an image is pinned by image and digest, all else by url and sha256", p.Name, c.Kind)
	}
	if p.Image != "" {
		return errors.Join(append(problems, p.checkImage())...)
	}
	return errors.Join(append(problems, p.checkFile())...)
}

func (p Pin) checkImage() error {
	switch hex, ok := strings.CutPrefix(p.Digest, "sha256:"); {
	case p.URL+p.SHA256+p.Member != "":
		return errors.New("url, sha256 and member do not go with image")
	case !tagged.MatchString(p.Image):
		return fmt.Errorf("image: %q is not HOST/PATH:TAG", p.Image)
	case !ok || !hexSHA256.MatchString(hex):
		return fmt.Errorf("digest: %q is no sha256 digest", p.Digest)
	}
	return nil
}

func (p Pin) checkFile() error {
	u, err := url.Parse(p.URL)
	switch {
	case err != nil:
		return fmt.Errorf("url: %w", err)
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("url: %q does not begin with https://HOST/", p.URL)
	case p.Digest != "":
		return errors.New("digest does not go with url: a file has sha256")
	case !hexSHA256.MatchString(p.SHA256):
		return fmt.Errorf("sha256: %q is no digest", p.SHA256)
	case p.Member != "" && !filepath.IsLocal(p.Member):
		return fmt.Errorf("member: %q leads out of the archive", p.Member)
	}
	return nil
}
