// Package openstackcluster is the Helm chart of a workload cluster on OpenStack:
// the objects of Cluster API, and the addons as objects of addons.stackhpc.com.
// Its values, names and labels are those of capi-helm-charts' openstack-cluster.
package openstackcluster

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/slipway-sh/slipway/internal/component"
)

//go:embed all:chart
var files embed.FS

// Chart loads the chart. Each call gives a chart of its own, because Helm
// changes what it is given.
func Chart() (*chart.Chart, error) {
	var all []*loader.BufferedFile
	err := fs.WalkDir(files, "chart", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(path)
		all = append(all, &loader.BufferedFile{Name: strings.TrimPrefix(path, "chart/"), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading chart openstack-cluster: %w", err)
	}
	loaded, err := loader.LoadFiles(all)
	if err != nil {
		return nil, fmt.Errorf("loading chart openstack-cluster: %w", err)
	}
	loaded.Metadata.AppVersion = component.SlipwayVersion() // of the image that looks after etcd
	return loaded, nil
}

// Release is a cluster to render: Helm's release and a user's values.
type Release struct {
	// Name is that of the release, which is the cluster's.
	Name string
	// Namespace is on the management cluster; "default" if empty.
	Namespace string
	Values    map[string]any
}

// Render gives the objects of a release as one YAML stream, in the order Helm
// installs them, without asking any API server.
func Render(r Release) (string, error) {
	loaded, err := Chart()
	if err != nil {
		return "", err
	}
	if r.Namespace == "" {
		r.Namespace = "default"
	}
	options := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(loaded, r.Values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return "", fmt.Errorf("values of cluster %s: %w", r.Name, err)
	}
	rendered, err := engine.Render(loaded, values)
	if err != nil {
		return "", fmt.Errorf("rendering cluster %s: %w", r.Name, err)
	}
	maps.DeleteFunc(rendered, func(name, _ string) bool { return !strings.HasSuffix(name, ".yaml") })
	_, manifests, err := releaseutil.SortManifests(rendered, chartutil.DefaultCapabilities.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return "", fmt.Errorf("sorting objects of cluster %s: %w", r.Name, err)
	}
	var text bytes.Buffer
	for _, m := range manifests {
		fmt.Fprintf(&text, "---\n%s\n", strings.TrimSpace(m.Content))
	}
	return text.String(), nil
}
