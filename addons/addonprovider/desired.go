package addonprovider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/release"
	"github.com/slipway-sh/slipway/addons/addonprovider/template"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/addonprovider/values"
	"github.com/slipway-sh/slipway/internal/charts"
)

// renderTime bounds the rendering of one addon's templates.
const renderTime = 10 * time.Second

// addon is what both kinds of addon implement.
type addon interface {
	client.Object
	Addon() *v1alpha1.AddonSpec
	AddonStatus() *v1alpha1.AddonStatus
}

// desired is what a release is to be made from, before its chart is loaded.
type desired struct {
	// digest covers all of it; it is a valid label value.
	digest    string
	name      string
	namespace string
	cluster   types.NamespacedName
	timeout   time.Duration
	hooks     v1alpha1.LifecycleHooks
	values    map[string]any
	// load returns the chart and the digest of its archive, if it has one.
	load func(context.Context) (*chart.Chart, string, error)
}

// desire renders an addon. It returns a waitError if something is still missing, and a
// release.Error if the templates are wrong.
func (r *reconciler) desire(ctx context.Context, object addon, surroundings *clusterObjects) (*desired, error) {
	spec := object.Addon()
	d := &desired{name: releaseName(object), namespace: spec.TargetNamespace, hooks: spec.LifecycleHooks,
		cluster: types.NamespacedName{Namespace: object.GetNamespace(), Name: spec.ClusterName}}
	var err error
	if d.timeout, err = timeout(spec.ReleaseTimeout, r.options.DefaultTimeout); err != nil {
		return nil, &release.Error{Kind: release.Refused, Err: err}
	}
	variables, err := variables(object, surroundings)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, renderTime)
	defer cancel()
	switch o := object.(type) {
	case *v1alpha1.HelmRelease:
		err = r.desireRelease(ctx, o, variables, d)
	case *v1alpha1.Manifests:
		err = r.desireManifests(ctx, o, variables, d)
	}
	return d, err
}

func releaseName(object addon) string {
	if name := object.Addon().ReleaseName; name != "" {
		return name
	}
	return object.GetName()
}

// timeout reads a duration; a plain number means seconds.
func timeout(value *intstr.IntOrString, absent time.Duration) (time.Duration, error) {
	if value == nil {
		return absent, nil
	}
	if value.Type == intstr.Int {
		return time.Duration(value.IntVal) * time.Second, nil
	}
	d, err := time.ParseDuration(value.StrVal)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("releaseTimeout %q is not a duration such as 30m", value.StrVal)
	}
	return d, nil
}

// variables are what templates see, without fields that change without meaning.
func variables(object addon, surroundings *clusterObjects) (map[string]any, error) {
	self, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting addon: %w", err)
	}
	delete(self, "status")
	if metadata, ok := self["metadata"].(map[string]any); ok {
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, field)
		}
	}
	return map[string]any{
		"addon":          values.Of(self),
		"cluster":        content(surroundings.cluster),
		"infra_cluster":  content(surroundings.infra),
		"cloud_identity": content(surroundings.identity),
	}, nil
}

func content(object *unstructured.Unstructured) any {
	if object == nil {
		return nil
	}
	return values.Of(object.Object)
}

func wrong(what string, err error) error {
	return &release.Error{Kind: release.TemplateInvalid, Err: fmt.Errorf("%s: %w", what, err)}
}

func (r *reconciler) desireRelease(ctx context.Context, object *v1alpha1.HelmRelease, variables map[string]any, d *desired) error {
	var merged any = values.NewMap()
	for i, source := range object.Spec.ValuesSources {
		text, err := r.valuesText(ctx, object.Namespace, source)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("values source %d%s", i+1, text.name)
		rendered, err := template.Render(ctx, text.text, variables)
		if err != nil {
			return wrong(what, err)
		}
		value, err := values.Parse(rendered)
		if err != nil {
			return wrong(what, err)
		}
		if _, ok := value.(*values.Map); !ok && value != nil {
			return wrong(what, errors.New("values must be a map"))
		}
		merged = values.Merge(merged, value)
	}
	d.values, _ = values.Plain(merged).(map[string]any)
	spec := object.Spec.Chart
	reference := charts.Reference{Repository: spec.Repo, Name: spec.Name, Version: spec.Version, Digest: spec.Digest}
	d.load = func(ctx context.Context) (*chart.Chart, string, error) { return r.charts.Load(ctx, reference) }
	// Addresses of repositories may change without the chart changing.
	return d.sum("HelmRelease", spec.Name, spec.Version, d.name, d.namespace, d.values)
}

func (r *reconciler) valuesText(ctx context.Context, namespace string, source v1alpha1.ValuesSource) (namedText, error) {
	var t namedText
	var err error
	switch {
	case source.ConfigMap != nil:
		t.name = " (ConfigMap " + source.ConfigMap.Name + ")"
		t.text, err = r.text(ctx, "ConfigMap", namespace, *source.ConfigMap)
	case source.Secret != nil:
		t.name = " (Secret " + source.Secret.Name + ")"
		t.text, err = r.text(ctx, "Secret", namespace, *source.Secret)
	case source.Template != nil:
		t.text = *source.Template
	}
	return t, err
}

func (r *reconciler) desireManifests(ctx context.Context, object *v1alpha1.Manifests, variables map[string]any, d *desired) error {
	var resources []map[string]any
	for i, source := range object.Spec.ManifestSources {
		texts, err := r.manifestTexts(ctx, object.Namespace, source)
		if err != nil {
			return err
		}
		for _, text := range texts {
			what := fmt.Sprintf("manifest source %d", i+1)
			if text.name != "" {
				what += " (" + text.name + ")"
			}
			rendered, err := template.Render(ctx, text.text, variables)
			if err != nil {
				return wrong(what, err)
			}
			documents, err := values.ParseAll(rendered)
			if err != nil {
				return wrong(what, err)
			}
			for _, document := range documents {
				resource, ok := values.Plain(document).(map[string]any)
				if !ok && document != nil {
					return wrong(what, errors.New("a manifest must be a map"))
				}
				if len(resource) > 0 {
					resources = append(resources, resource)
				}
			}
		}
	}
	ch, content, err := release.ManifestsChart(d.name, resources)
	if err != nil {
		return wrong("manifests", err)
	}
	d.load = func(context.Context) (*chart.Chart, string, error) { return ch, "", nil }
	return d.sum("Manifests", content, d.name, d.namespace)
}

func (r *reconciler) manifestTexts(ctx context.Context, namespace string, source v1alpha1.ManifestSource) ([]namedText, error) {
	switch {
	case source.ConfigMap != nil:
		return r.texts(ctx, "ConfigMap", namespace, *source.ConfigMap)
	case source.Secret != nil:
		return r.texts(ctx, "Secret", namespace, *source.Secret)
	case source.Template != nil:
		return []namedText{{"", *source.Template}}, nil
	}
	return nil, nil
}

// sum sets the digest: that of the parts as JSON, whose maps have sorted keys.
func (d *desired) sum(parts ...any) error {
	data, err := json.Marshal(parts)
	if err != nil {
		return wrong("values", err)
	}
	sum := sha256.Sum256(data)
	d.digest = hex.EncodeToString(sum[:20])
	return nil
}
