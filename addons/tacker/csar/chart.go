package csar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
)

// chart makes a Helm package's chart of openstack-cluster. Tacker upgrades with
// --reuse-values, which keeps the defaults of the old chart: values in values.yaml would
// never change. So the values are in a template, and each template of the chart is
// called with them.
func (p *Package) chart(values map[string]any) error {
	from, err := openstackcluster.Chart()
	if err != nil {
		return err
	}
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("writing values: %w", err)
	}
	files := map[string][]byte{"templates/_values.tpl": define("package.values", text)}
	if files["Chart.yaml"], err = yaml.Marshal(from.Metadata); err != nil {
		return fmt.Errorf("writing Chart.yaml: %w", err)
	}
	for _, t := range from.Templates {
		folder, name := path.Split(t.Name)
		if strings.HasPrefix(name, "_") {
			files[t.Name] = t.Data
			continue
		}
		files[folder+"_"+name] = t.Data
		files[t.Name] = fmt.Appendf(nil, `{{- include "%s/%s_%s" (dict "Values" (include "package.values" . | mustFromJson) "Files" .Files "Release" .Release "Chart" .Chart "Capabilities" .Capabilities "Template" .Template) }}`+"\n",
			from.Name(), folder, name)
	}
	for _, f := range from.Files {
		if strings.HasPrefix(f.Name, "files/") { // templates read them
			files[f.Name] = f.Data
		}
	}
	counts := map[string]int{}
	for _, u := range p.VNFD.Units {
		if files["templates/anchor-"+u.ID+".yaml"], err = anchorTemplate(u); err != nil {
			return err
		}
		counts[u.ID] = u.Count(u.Level)
	}
	if files["values.yaml"], err = yaml.Marshal(map[string]any{"tacker": counts}); err != nil {
		return fmt.Errorf("writing values.yaml: %w", err)
	}
	return p.pack(from.Name(), from.Metadata.Version, files)
}

// pack adds a chart as an archive with the same bytes every time.
func (p *Package) pack(name, version string, files map[string][]byte) error {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(files[file])), ModTime: epoch()}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("packing chart %s: %w", name, err)
		}
		if _, err := archive.Write(files[file]); err != nil {
			return fmt.Errorf("packing chart %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("packing chart %s: %w", name, err)
	}
	if err := zipped.Close(); err != nil {
		return fmt.Errorf("packing chart %s: %w", name, err)
	}
	at := fmt.Sprintf("%s%s-%s.tgz", Manifests, name, version)
	p.files[at], p.Deploy = b.Bytes(), []string{at}
	return nil
}

// define is a template with a text as it is.
func define(name string, text []byte) []byte {
	return slices.Concat([]byte(`{{- define "`+name+`" -}}`), literal(text), []byte("{{- end -}}\n"))
}

// literal is a text that a template writes as it is.
func literal(text []byte) []byte { return bytes.ReplaceAll(text, []byte("{{"), []byte(`{{ "{{" }}`)) }

// anchorTemplate is a unit's Pod, named as Tacker finds it: name of the unit, dash, and
// something without a dash.
func anchorTemplate(u Unit) ([]byte, error) {
	text, err := yaml.Marshal(anchor(u.Resource+"-{{ .Release.Name }}", "").Object)
	if err != nil {
		return nil, fmt.Errorf("writing the anchor of %s: %w", u.ID, err)
	}
	return text, nil
}
