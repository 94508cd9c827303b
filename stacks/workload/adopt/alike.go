package adopt

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Unlike is a place where an object does not have what is wanted.
type Unlike struct {
	Path      string
	Want, Has any
}

// Within compares what is wanted with what an object has, by meaning, and returns where it
// has something else. What is only in the object is not looked at.
func Within(want, has any) []Unlike {
	var all []Unlike
	for _, one := range within("", want, has) {
		all = append(all, Unlike{one.path, one.want, one.has})
	}
	return all
}

// Documents reads a release's manifest.
func Documents(manifest string) ([]*unstructured.Unstructured, error) { return documents(manifest) }
