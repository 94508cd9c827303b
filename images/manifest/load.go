package manifest

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Parse reads a manifest: our own form, azimuth-images' manifest.json, or a
// list of OSISM's openstack-image-manager. What other tools' lists say beyond
// the images is left out. The defaults are applied to every image.
func Parse(source config.Source) (*Manifest, error) {
	var top map[string]any
	if err := yaml.Unmarshal(source.Text, &top); err == nil && top["apiVersion"] == nil {
		if read := foreign(top); read != nil {
			return read(source)
		}
	}
	if looksLikePage(source.Text) {
		return nil, fault.Usage(source.Name, errors.New("this is a web page, not an image manifest"), "check the URL: it returns a login or an error page")
	}
	m := &Manifest{}
	document, err := config.ParseDocument(source, m)
	if err != nil {
		return nil, err
	}
	m.validate(document)
	if err := document.Err(); err != nil {
		return nil, err
	}
	m.applyDefaults()
	return m, nil
}

// foreign recognises another tool's list.
func foreign(top map[string]any) func(config.Source) (*Manifest, error) {
	if _, ok := top["images"].([]any); ok {
		return readOSISM
	}
	for _, value := range top {
		entry, ok := value.(map[string]any)
		if !ok || entry["url"] == nil && entry["source_url"] == nil {
			return nil
		}
	}
	if len(top) == 0 {
		return nil
	}
	return readAzimuth
}

func looksLikePage(text []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(text[:min(len(text), 512)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// blank is a manifest without images that has the defaults.
func blank() *Manifest {
	m := &Manifest{}
	_, _ = config.ParseDocument(config.Source{Text: []byte("spec: {}")}, m) // what it lacks is for finish to say
	return m
}

// finish validates a manifest that was made of a foreign list; its problems
// have no lines.
func (m *Manifest) finish(name string) (*Manifest, error) {
	m.APIVersion, m.Kind = APIVersion, Kind
	text, err := yaml.Marshal(m)
	if err != nil {
		return nil, err
	}
	again := &Manifest{}
	document, err := config.ParseDocument(config.Source{Text: text}, again) // nameless: its lines are nobody's
	if err != nil {
		return nil, err
	}
	again.validate(document)
	if err := document.Err(); err != nil {
		return nil, fault.Usage(name, err, "the file was read as another tool's list; `slipway image manifest` shows the result")
	}
	again.applyDefaults()
	return again, nil
}

// applyDefaults gives every image what the defaults say and it does not.
func (m *Manifest) applyDefaults() {
	d := m.Spec.Defaults
	for n := range m.Spec.Images {
		i := &m.Spec.Images[n]
		if i.Key == "" {
			i.Key = i.Name
		}
		if i.Visibility == "" {
			i.Visibility = d.Visibility
		}
		if i.Method == "" {
			i.Method = d.Method
		}
		if i.Convert == "" && i.Format == FormatQcow2 {
			i.Convert = d.Convert
		}
		if i.Convert == "none" || i.Convert == i.Format {
			i.Convert = ""
		}
		i.Tags = merged(d.Tags, i.Tags)
		i.Properties = over(d.Properties, i.Properties)
		if i.Visibility == VisibilityShared {
			i.Share = append(slices.Clone(d.Share), i.Share...)
		}
		i.KubernetesVersion = WithV(i.KubernetesVersion)
	}
}

// Override is what the command line puts over a manifest.
type Override struct {
	// Only are the keys or names of the images wanted; empty is all.
	Only []string
	// Visibility, if set, is every image's.
	Visibility string
	// Convert, if set, is every qcow2 image's: "raw" or "none".
	Convert string
	// Properties are put over every image's.
	Properties map[string]string
}

// With returns the manifest with the override applied; an unknown key is a
// fault that names the known ones.
func (m *Manifest) With(o Override) (*Manifest, error) {
	out := *m
	out.Spec.Images = nil
	found := map[string]bool{}
	for _, i := range m.Spec.Images {
		wanted := len(o.Only) == 0
		for _, key := range o.Only {
			if key == i.Key || key == i.Name {
				wanted, found[key] = true, true
			}
		}
		if !wanted {
			continue
		}
		if o.Visibility != "" {
			i.Visibility = o.Visibility
		}
		if o.Convert != "" && i.Format == FormatQcow2 {
			i.Convert = strings.TrimPrefix(o.Convert, "none")
		}
		i.Properties = over(i.Properties, o.Properties)
		out.Spec.Images = append(out.Spec.Images, i)
	}
	var errs []error
	for _, key := range o.Only {
		if !found[key] {
			errs = append(errs, fault.Usage("image "+key, errors.New("the manifest has no image with this key or name"), "the manifest has: "+strings.Join(m.Keys(), ", ")))
		}
	}
	return &out, errors.Join(errs...)
}

// Keys lists the images' keys in the manifest's order.
func (m *Manifest) Keys() []string {
	var keys []string
	for _, i := range m.Spec.Images {
		keys = append(keys, i.Key)
	}
	return keys
}

func merged(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// over lays one map on another; neither is changed.
func over(base, top map[string]string) map[string]string {
	out := make(map[string]string, len(base)+len(top))
	for _, from := range []map[string]string{base, top} {
		for key, value := range from {
			out[key] = value
		}
	}
	return out
}
