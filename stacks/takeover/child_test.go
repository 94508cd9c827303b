package takeover

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// TestTheSeedKnowsWhatItGivesBack: it may have other management clusters, so that without a name
// nobody else knows which one goes back with it.
func TestTheSeedKnowsWhatItGivesBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		adopted, given, want, refused string
	}{
		"no name":                {`{"environment": "prod"}`, "", "prod", ""},
		"its name":               {`{"environment": "prod"}`, "prod", "prod", ""},
		"another name":           {`{"environment": "prod"}`, "test", "", "adopted as environment prod"},
		"not adopted":            {"", "test", "test", ""},
		"not adopted, no name":   {"", "", "", ""},
		"adopted without a name": {`{}`, "", "", ""},
	} {
		var objects []runtime.Object
		if test.adopted != "" {
			objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: recordNamespace, Name: recordName}, Type: recordType, Data: map[string][]byte{recordKey: []byte(test.adopted)}})
		}
		seed := Site{Role: Seed, Kube: &kube.Cluster{Typed: fake.NewClientset(objects...)}}
		got, err := seed.Returning(t.Context(), test.given)
		if got != test.want || (err != nil) != (test.refused != "") || err != nil && (!strings.Contains(err.Error(), test.refused) || fault.Remedy(err) == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
