package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	helm "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// valueName is an entry of helm_value_names: where a VDU's number goes.
type valueName struct {
	Replica string `json:"replica"`
}

// release is what the request says of the chart's release.
func (j *job) release() *v1alpha1.Release {
	if j.params.More.Chart == "" {
		return nil
	}
	r := &v1alpha1.Release{Names: map[string]string{}, Parameters: map[string]string{}}
	for unit, name := range j.params.More.Names {
		r.Names[unit] = name.Replica
	}
	for path, value := range j.params.More.Parameters {
		r.Parameters[path] = string(value)
		var text string
		if json.Unmarshal(value, &text) == nil {
			r.Parameters[path] = text
		}
	}
	return r
}

// render makes the objects of a package's chart, as helm install would, and applies them
// like manifests: there is no release in the cluster whose records could differ from what
// the instance says. All numbers follow from levels.
func (j *job) render(ctx context.Context, content *csar.Content, path, namespace string, r *v1alpha1.Release, levels map[string]int32) ([]*unstructured.Unstructured, error) {
	text, ok := content.Files[path]
	if !ok || !strings.HasPrefix(path, csar.Manifests) {
		return nil, refuse(http.StatusBadRequest, "helm_chart_path: %s is not a chart of the package", path)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(text))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "helm_chart_path: %s: %v", path, err)
	}
	set, err := values(content, r, levels)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, set); err != nil {
		return nil, refuse(http.StatusBadRequest, "%s: %v", path, err)
	}
	where, err := j.capabilities(loaded)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: v1alpha1.ReleaseName(j.instance.Name), Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, set, options, where)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "%s: %v", path, err)
	}
	rendered, err := engine.Render(loaded, all)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "%s: %v", path, err)
	}
	return decode(path, loaded, rendered, where)
}

// values are helm_parameters, and the numbers of helm_value_names.
func values(content *csar.Content, r *v1alpha1.Release, levels map[string]int32) (map[string]any, error) {
	set := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(r.Parameters)) {
		if err := strvals.ParseInto(path+"="+r.Parameters[path], set); err != nil {
			return nil, refuse(http.StatusBadRequest, "helm_parameters: %s: %v", path, err)
		}
	}
	for _, u := range content.VNFD.Units {
		path, ok := r.Names[u.ID]
		if !ok {
			continue
		}
		if err := strvals.ParseInto(fmt.Sprintf("%s=%d", path, u.Count(int(levels[u.Aspect]))), set); err != nil {
			return nil, refuse(http.StatusBadRequest, "helm_value_names: %s: %v", u.ID, err)
		}
	}
	return set, nil
}

// capabilities are those of the management cluster, which the chart must suit.
func (j *job) capabilities(loaded *chart.Chart) (*chartutil.Capabilities, error) {
	discovery := j.kube.Typed.Discovery()
	version, err := discovery.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the management cluster for its version: %w", err)
	}
	groups, err := helm.GetVersionSet(discovery)
	if err != nil {
		return nil, fmt.Errorf("asking the management cluster for its kinds: %w", err)
	}
	where := &chartutil.Capabilities{APIVersions: groups, HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
		KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor}}
	if want := loaded.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, version.GitVersion) {
		return nil, refuse(http.StatusUnprocessableEntity, "the chart is for Kubernetes %s, and the management cluster has %s", want, version.GitVersion)
	}
	return where, nil
}

// decode reads what was rendered, in the order of an installation.
func decode(path string, loaded *chart.Chart, rendered map[string]string, where *chartutil.Capabilities) (all []*unstructured.Unstructured, err error) {
	maps.DeleteFunc(rendered, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	hooks, manifests, err := releaseutil.SortManifests(rendered, where.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "%s: %v", path, err)
	}
	var wrong []error
	for _, hook := range hooks {
		if !slices.Contains(hook.Events, release.HookTest) {
			wrong = append(wrong, fmt.Errorf("%s %s", hook.Kind, hook.Name))
		}
	}
	if len(wrong) > 0 {
		return nil, refuse(http.StatusUnprocessableEntity, "%s has hooks, and the endpoint runs none: %v", path, errors.Join(wrong...))
	}
	var texts []string
	for _, crd := range loaded.CRDObjects() {
		texts = append(texts, string(crd.File.Data))
	}
	for _, m := range manifests {
		texts = append(texts, m.Content)
	}
	for _, text := range texts {
		objects, err := kube.Decode(strings.NewReader(text))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "%s: %v", path, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}
