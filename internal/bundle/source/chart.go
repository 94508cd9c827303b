package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/ignore"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/slipway-sh/slipway/internal/component"
)

// chartArchive is a chart that lies in a module, packed. Its patch makes its
// defaults those of the catalogue: charts in modules are often older than the
// program beside them.
type chartArchive struct {
	moduleFile
	Patch patch
}

// packing is how charts become archives: results of another way are made again.
const packing = "without what Helm ignores "

func (c chartArchive) fingerprint() string { return packing + c.moduleFile.fingerprint() }

func (c chartArchive) make(ctx context.Context, j *job) (output, error) {
	module, err := c.dir(ctx, j)
	if err != nil {
		return output{}, err
	}
	dir := j.path("chart")
	if err := copyWritable(dir, module+"/"+c.Path); err != nil {
		return output{}, err
	}
	if err := c.Patch.apply(dir); err != nil {
		return output{}, fmt.Errorf("patching chart: %w", err)
	}
	if err := dropIgnored(dir); err != nil {
		return output{}, fmt.Errorf("leaving files out of the chart: %w", err)
	}
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return output{}, fmt.Errorf("loading chart: %w", err)
	}
	if err := chart.Validate(); err != nil {
		return output{}, fmt.Errorf("chart: %w", err)
	}
	file := j.path("chart.tgz")
	return output{file: file, source: c.source()}, writeArchive(file, dir, chart.Name())
}

// dropIgnored removes what a chart's .helmignore names, as Helm does when it packs a chart:
// Traefik's has a file beside its definitions that no API server takes.
func dropIgnored(dir string) error {
	rules, err := ignore.ParseFile(filepath.Join(dir, ignore.HelmIgnore))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil || !rules.Ignore(filepath.ToSlash(strings.TrimPrefix(name, dir+"/")), info) {
			return err
		}
		if err := os.RemoveAll(name); err != nil {
			return err
		}
		if entry.IsDir() {
			return filepath.SkipDir
		}
		return nil
	})
}

// renderedChart is a chart of the bundle as plain manifests, for tools that
// take no charts, such as clusterctl.
type renderedChart struct {
	plain
	Chart     string
	Namespace string
	Values    map[string]any
	// Images lists the components whose references must be in the result.
	Images []string
}

func (r renderedChart) needs() []string { return []string{r.Chart} }

func (r renderedChart) make(_ context.Context, j *job) (output, error) {
	chart, err := loader.LoadFile(j.input(r.Chart))
	if err != nil {
		return output{}, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: component.KubernetesVersion, Major: "1", Minor: "34"}
	release := chartutil.ReleaseOptions{Name: chart.Name(), Namespace: r.Namespace, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, r.Values, release, capabilities)
	if err != nil {
		return output{}, err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return output{}, fmt.Errorf("rendering %s: %w", r.Chart, err)
	}
	maps.DeleteFunc(files, func(name, _ string) bool { return !strings.HasSuffix(name, ".yaml") })
	_, manifests, err := releaseutil.SortManifests(files, capabilities.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return output{}, err
	}
	text := r.text(manifests)
	for _, name := range r.Images {
		if !strings.Contains(text, componentRef(name)) {
			return output{}, fmt.Errorf("%s does not use %s", r.Chart, componentRef(name))
		}
	}
	file := j.path("rendered.yaml")
	return output{file: file, source: "chart " + r.Chart, contains: r.needs()}, os.WriteFile(file, []byte(text), 0o644)
}

func (r renderedChart) text(manifests []releaseutil.Manifest) string {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", r.Namespace)
	for _, m := range manifests {
		io.WriteString(&text, "---\n"+strings.TrimLeft(m.Content, "-\n")+"\n")
	}
	return text.String()
}
