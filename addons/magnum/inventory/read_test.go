package inventory

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

func template(name, uuid string) *v1alpha1.ClusterTemplate {
	t := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace("p"), Name: name, ResourceVersion: "7"}}
	t.Spec.Identity = v1alpha1.Identity{UUID: uuid, Name: "small", ProjectID: "p"}
	return t
}

// TestTemplatesInUse: by the cluster that names one, also from another project, and by one that
// keeps what it was made from.
func TestTemplatesInUse(t *testing.T) {
	t.Parallel()
	const uuid, other = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	for name, test := range map[string]struct {
		change func(*v1alpha1.Cluster)
		used   bool
	}{
		"its name":     {func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "t-1" }, true},
		"another name": {func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "t-2" }, false},
		"its name, another namespace": {func(c *v1alpha1.Cluster) {
			*c = *cluster("c1", "q")
			c.Spec.TemplateRef.Name = "t-1"
		}, false},
		"its namespace, from another": {func(c *v1alpha1.Cluster) {
			*c = *cluster("c1", "q")
			c.Spec.TemplateRef = v1alpha1.TemplateRef{Namespace: v1alpha1.Namespace("p"), Name: "t-1"}
		}, true},
		"a copy of it":      {func(c *v1alpha1.Cluster) { c.Spec.Template = &v1alpha1.TemplateSnapshot{UUID: uuid} }, true},
		"a copy of another": {func(c *v1alpha1.Cluster) { c.Spec.Template = &v1alpha1.TemplateSnapshot{UUID: other} }, false},
	} {
		c := cluster("c1", "p")
		test.change(c)
		if got := stocked(template("t-1", uuid), c).TemplateInUse(template("t-1", uuid)); got != test.used {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOneOfTwoOfAName stays when the other is deleted, and has another uuid.
func TestOneOfTwoOfAName(t *testing.T) {
	t.Parallel()
	const one, two = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	first, second := template("t-1", one), template("t-2", two)
	i := stocked(first, second)
	if both := i.FindTemplates("", "small"); len(both) != 2 {
		t.Fatalf("%v", both)
	}
	i.drop(first)
	if left := i.FindTemplates("", "small"); len(left) != 1 || left[0].Name != "t-2" {
		t.Errorf("of two, the first deleted: %v", left)
	}
	if gone, left := i.FindTemplates(one, ""), i.FindTemplates(two, ""); len(gone) != 0 || len(left) != 1 {
		t.Errorf("by uuid: %v, %v", gone, left)
	}
	i.drop(second)
	if left := i.FindTemplates("", "small"); len(left) != 0 {
		t.Errorf("both deleted: %v", left)
	}
}

// TestAwait: versions of one API server rise; others are equal or not.
func TestAwait(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		have, version string
		deleted, seen bool
	}{
		{"7", "7", false, true}, {"7", "6", false, true}, {"7", "8", false, false}, {"10", "9", false, true}, {"", "7", false, false},
		{"a", "a", false, true}, {"a", "b", false, false}, {"7", "b", false, false}, {"a", "7", false, false},
		{"", "7", true, true}, {"7", "7", true, false}, {"6", "7", true, false}, {"8", "7", true, true}, {"a", "a", true, false},
	} {
		i, o := newInventory(), template("t-1", "")
		if o.ResourceVersion = test.have; test.have != "" {
			i.put(o)
		}
		asked := o.DeepCopy()
		asked.ResourceVersion = test.version
		if got := i.Await(t.Context(), asked, test.deleted, 10*time.Millisecond); got != test.seen {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
