package release

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"
)

// ManifestsChart makes a chart from resources: one file each, so that Helm keeps them together,
// removes those that are dropped and remembers their history. The chart's version has the digest of
// the content, which is also returned.
func ManifestsChart(name string, resources []map[string]any) (*chart.Chart, string, error) {
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: name, Type: "application"}}
	have := map[string]bool{}
	for _, resource := range resources {
		file, definition, err := resourceFile(resource)
		if err != nil {
			return nil, "", err
		}
		if have[file.Name] {
			return nil, "", fmt.Errorf("resource %s is defined twice", strings.TrimSuffix(file.Name, ".yaml"))
		}
		have[file.Name] = true
		if definition {
			ch.Files = append(ch.Files, file)
		} else {
			ch.Templates = append(ch.Templates, file)
		}
	}
	sum := sha256.New()
	for _, files := range [][]*chart.File{ch.Files, ch.Templates} {
		slices.SortFunc(files, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
		for _, file := range files {
			fmt.Fprintf(sum, "%s\n%d\n%s", file.Name, len(file.Data), file.Data)
		}
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	ch.Metadata.Version = "0.1.0+" + digest[:8]
	return ch, digest, nil
}

// resourceFile is the file name of a resource, and whether the resource is a definition, which
// charts keep apart.
func resourceFile(resource map[string]any) (*chart.File, bool, error) {
	apiVersion, _ := resource["apiVersion"].(string)
	kind, _ := resource["kind"].(string)
	metadata, _ := resource["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	if apiVersion == "" || kind == "" || name == "" {
		return nil, false, errors.New("a manifest has no apiVersion, kind or name")
	}
	data, err := yaml.Marshal(resource)
	if err != nil {
		return nil, false, fmt.Errorf("writing manifest of %s %s: %w", kind, name, err)
	}
	file := strings.ReplaceAll(strings.Join([]string{apiVersion, kind, namespace, name}, "_"), "/", "_") + ".yaml"
	if kind == "CustomResourceDefinition" {
		return &chart.File{Name: "crds/" + file, Data: data}, true, nil
	}
	// What looks like a template of Helm is text here.
	escaped := strings.ReplaceAll(string(data), "{{", `{{ "{{" }}`)
	return &chart.File{Name: "templates/" + file, Data: []byte(escaped)}, false, nil
}
