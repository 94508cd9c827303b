package release

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// proves: F122, F123
func TestClassify(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "configmaps"}
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "Widget"}, SearchedVersions: []string{"v1"}}
	for name, c := range map[string]struct {
		err      error
		rendered bool
		want     Kind
	}{
		"template":            {errors.New("execution error at (x.yaml:1:3): no"), false, ChartInvalid},
		"schema of values":    {errors.New("values don't meet the specifications of the schema(s)"), false, ChartInvalid},
		"kind":                {fmt.Errorf("unable to build: %w", utilerrors.NewAggregate([]error{fmt.Errorf("resource mapping not found: %w", missing)})), true, KindMissing},
		"kind in words":       {errors.New(`no matches for kind "Widget" in version "g/v1"`), true, KindMissing},
		"kind while charting": {missing, false, KindMissing},
		"refused":             {fmt.Errorf("Kubernetes cluster unreachable: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")}), false, Unreachable},
		"url":                 {&url.Error{Op: "Get", Err: errors.New("EOF")}, true, Unreachable},
		"timeout in words":    {errors.New("could not get information: net/http: request canceled (Client.Timeout exceeded while awaiting headers)"), true, Unreachable},
		"down":                {fmt.Errorf("x: %w", &target.UnreachableError{Err: errors.New("y")}), true, Unreachable},
		"unauthorized":        {apierrors.NewUnauthorized("no"), true, Unreachable},
		"invalid":             {fmt.Errorf("failed to create resource: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil)), true, Refused},
		"invalid in words":    {errors.New(`cannot patch "x" with kind Service: Service "x" is invalid: spec.clusterIP: field is immutable`), true, Refused},
		"unknown field":       {errors.New(`Deployment in version "v1" cannot be handled: strict decoding error: unknown field "spec.replica"`), true, Refused},
		"of another release":  {errors.New("ConfigMap x exists and cannot be imported into the current release: invalid ownership metadata"), true, Refused},
		"conflict":            {apierrors.NewConflict(resource, "x", errors.New("changed")), true, Temporary},
		"quota":               {apierrors.NewForbidden(resource, "x", errors.New("exceeded quota")), true, Temporary},
		"webhook":             {apierrors.NewInternalError(errors.New("failed calling webhook")), true, Temporary},
		"server while charts": {apierrors.NewInternalError(errors.New("etcd")), false, Temporary},
		"not ready":           {&TimeoutError{time.Minute, []string{"Pod a/b"}}, true, NotReady},
		"joined":              {errors.Join(&TimeoutError{time.Minute, nil}, errors.New("x")), true, NotReady},
		"helm's hook":         {errors.New("pre-upgrade hooks failed: Job a/b failed: BackoffLimitExceeded"), true, NotReady},
		"anything":            {errors.New("something"), true, Temporary},
		"classified":          {&Error{KindMissing, errors.New("execution error")}, false, KindMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := classify(c.err, c.rendered)
			if got := KindOf(err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if err.Error() != c.err.Error() {
				t.Errorf("the text changed to %q", err)
			}
		})
	}
	if classify(nil, true) != nil {
		t.Error("nil is an error")
	}
}

func TestManifestsChart(t *testing.T) {
	t.Parallel()
	thing := func(kind, name string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "n"}, "text": "{{ x }}"}
	}
	one, digest, err := ManifestsChart("m", []map[string]any{thing("ConfigMap", "b"), thing("ConfigMap", "a"), thing("CustomResourceDefinition", "c")})
	if err != nil {
		t.Fatal(err)
	}
	if one.Metadata.Version != "0.1.0+"+digest[:8] || len(one.Templates) != 2 || len(one.CRDObjects()) != 1 ||
		one.Templates[0].Name != "templates/v1_ConfigMap_n_a.yaml" {
		t.Errorf("the chart is %+v", one)
	}
	_, again, err := ManifestsChart("m", []map[string]any{thing("CustomResourceDefinition", "c"), thing("ConfigMap", "a"), thing("ConfigMap", "b")})
	if err != nil || again != digest {
		t.Errorf("the order counts: %s, %s, %v", digest, again, err)
	}
	if _, _, err := ManifestsChart("m", []map[string]any{thing("ConfigMap", "a"), thing("ConfigMap", "a")}); err == nil {
		t.Error("twice the same is no error")
	}
	if _, _, err := ManifestsChart("m", []map[string]any{{"kind": "ConfigMap"}}); err == nil {
		t.Error("a resource without name is no error")
	}
}
