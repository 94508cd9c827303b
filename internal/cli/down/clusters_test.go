package down

import (
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/clusterapi"
)

func TestOwnClusterIsNoTenants(t *testing.T) {
	t.Parallel()
	report := func(namespace, name string) clusterapi.Report {
		return clusterapi.Report{Namespace: namespace, Name: name, Exists: true}
	}
	own, tenants := divide([]parent{
		{name: "seed", clusters: []clusterapi.Report{report("default", "prod"), report("magnum-1", "prod"), report("default", "other")}},
		{name: "management cluster", clusters: []clusterapi.Report{report("magnum-1", "k8s")}},
	}, "default", "prod")
	if got, want := namesOf(own), []string{"default/prod (on the seed)"}; !slices.Equal(got, want) {
		t.Errorf("own: %v, want %v", got, want)
	}
	want := []string{"magnum-1/prod (on the seed)", "default/other (on the seed)", "magnum-1/k8s (on the management cluster)"}
	if got := namesOf(tenants); !slices.Equal(got, want) {
		t.Errorf("tenants: %v, want %v", got, want)
	}
}
