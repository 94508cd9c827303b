package moving

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestManyStorageClasses: a cluster of a cloud with many volume types is copied and adopted
// with the storage classes that it has; what a Cluster has no room for is told, and refuses
// nothing.
func TestManyStorageClasses(t *testing.T) {
	t.Parallel()
	for _, count := range []int{65, v1alpha1.MaxVolumeTypes, v1alpha1.MaxVolumeTypes + 1} {
		w := newWorld(t)
		more := []any{}
		for i := range count - 1 { // beside the default one
			name := fmt.Sprintf("type-%03d", i)
			more = append(more, map[string]any{"name": name, "volumeType": name})
		}
		addons := w.releases[v1alpha1.Namespace(shop)+"/"+stack].Config["addons"].(map[string]any)
		addons["openstack"].(map[string]any)["csiCinder"].(map[string]any)["additionalStorageClasses"] = more
		p := w.imported()
		c := &v1alpha1.Cluster{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: stack}, c); err != nil {
			t.Fatal(err)
		}
		if types := c.Spec.Resolved.VolumeTypes; len(types) != min(count, v1alpha1.MaxVolumeTypes) || types[0] != "ssd" {
			t.Errorf("%d types: the copy has %d, the first is %s", count, len(types), types[0])
		}
		told := slices.ContainsFunc(w.find(p, "shop-prod").Notes, func(note string) bool { return strings.Contains(note, "storage classes for") })
		if told != (count > v1alpha1.MaxVolumeTypes) {
			t.Errorf("%d types: told %t: %v", count, told, w.find(p, "shop-prod").Notes)
		}
	}
}
