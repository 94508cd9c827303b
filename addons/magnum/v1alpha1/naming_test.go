package v1alpha1

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestLabelValues: whatever ids a cloud has, a label can hold what is made of them. UUIDs stay.
func TestLabelValues(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"3f1c2d4e5a6b4c7d8e9f0a1b2c3d4e5f": "3f1c2d4e5a6b4c7d8e9f0a1b2c3d4e5f",
		"Jane Doe":                         "Jane-Doe",
		"jane@example.org":                 "jane-example.org",
		"Jürgen":                           "J-rgen",
		"-x-":                              "x",
		"":                                 "",
		"@":                                "",
		strings.Repeat("a", 62) + " b":     strings.Repeat("a", 62),
	} {
		got := LabelValue(id)
		if wrong := validation.IsValidLabelValue(got); got != want || len(wrong) > 0 {
			t.Errorf("%q: %q %v", id, got, wrong)
		}
	}
}

// TestNamesThatAreGiven win over those that follow from the object.
func TestNamesThatAreGiven(t *testing.T) {
	t.Parallel()
	plain := &Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "magnum-p", Name: "shop-abc", UID: "uid"}}
	given := plain.DeepCopy()
	given.Spec.Identity = Identity{UUID: "uuid", Name: "shop"}
	given.Spec.StackID, given.Spec.Credential.SecretName, given.Spec.TemplateRef.Namespace = "stack", "mine", "magnum-q"
	for c, want := range map[*Cluster][5]string{
		plain: {"uid", "shop-abc", "shop-abc", "shop-abc-cloud-credentials", "magnum-p"},
		given: {"uuid", "shop", "stack", "mine", "magnum-q"},
	} {
		if got := [5]string{c.UUID(), c.Title(), c.Stack(), c.CredentialSecret(), c.TemplateNamespace()}; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Namespace("AZ-az09.é"); got != "magnum-azaz09" {
		t.Errorf("namespace %q", got)
	}
	for name, want := range map[string]bool{"Control_Plane": true, "control-plane-1": false, "": false} {
		if ReservedGroup(name) != want {
			t.Errorf("%q is reserved: %t", name, !want)
		}
	}
}

// TestWhatWasThereBefore keeps its time and its id; what is none is as if there was none.
func TestWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	now, then := metav1.NewTime(time.Unix(1800000000, 0)), metav1.NewTime(time.Unix(1700000000, 0).UTC())
	for name, test := range map[string]struct {
		annotations map[string]string
		created     metav1.Time
		id          int64
	}{
		"new":       {nil, now, 0},
		"before":    {map[string]string{AnnotationFirstCreatedAt: "2023-11-14T22:13:20Z", AnnotationFormerID: "42"}, then, 42},
		"nonsense":  {map[string]string{AnnotationFirstCreatedAt: "long ago", AnnotationFormerID: "7x"}, now, 0},
		"below all": {map[string]string{AnnotationFormerID: "-7"}, now, 0},
	} {
		o := &Cluster{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: now, Annotations: test.annotations}}
		if created, id := Created(o), FormerID(o); !created.Equal(&test.created) || id != test.id {
			t.Errorf("%s: %d of %s", name, id, created)
		}
	}
}
