package devstack

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestTemplatesOfFormerProjectsGo when stack.sh runs a second time: their names are those of the
// new ones.
func TestTemplatesOfFormerProjectsGo(t *testing.T) {
	t.Parallel()
	kinds := map[schema.GroupVersionResource]string{{Version: "v1", Resource: "namespaces"}: "NamespaceList",
		{Group: "magnum.slipway.sh", Version: "v1alpha1", Resource: "clustertemplates"}: "ClusterTemplateList"}
	project := func(id string) map[string]string { return map[string]string{v1alpha1.LabelProject: id} }
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		object("Namespace", "v1", "", "default", "kube-apiserver", nil),
		object("Namespace", "v1", "", "magnum-former", "slipway", project("former")),
		object("Namespace", "v1", "", "magnum-now", "slipway", project("now")),
		object("Namespace", "v1", "", "magnum-theirs", "python-requests", project("former")),
		object("ClusterTemplate", "magnum.slipway.sh/v1alpha1", "magnum-former", "of-former", "slipway", nil),
		object("ClusterTemplate", "magnum.slipway.sh/v1alpha1", "magnum-now", "of-now", "slipway", nil),
		object("ClusterTemplate", "magnum.slipway.sh/v1alpha1", "magnum-theirs", "of-theirs", "slipway", nil))
	if err := removeFormer(t.Context(), client, func(context.Context, string) (bool, error) { return false, errors.New("no answer") }); err == nil || len(deletions(client)) > 0 {
		t.Errorf("Keystone did not answer: %v, deleted %q", err, deletions(client))
	}
	err := removeFormer(t.Context(), client, func(_ context.Context, id string) (bool, error) { return id == "now", nil })
	if got, want := deletions(client), []string{"of-former"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("deleted %q, want %q (%v)", got, want, err)
	}
}
