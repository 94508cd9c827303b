package sweep

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/orphan"
)

func orphans() []orphan.Orphan {
	return []orphan.Orphan{
		{Resource: openstack.Resource{Type: openstack.TypeNetwork, ID: "n", Name: "k8s-clusterapi-cluster-a-shop"}, Cluster: "a/shop", Proof: "made by CAPO"},
		{Resource: openstack.Resource{Type: openstack.TypeVolume, ID: "v", Name: "pvc-1"}, Cluster: "a/shop", Proof: "the name", ByName: true},
		{Resource: openstack.Resource{Type: openstack.TypeVolume, ID: "w", Name: "pvc-2"}, Cluster: "a/shop", Proof: "the name", ByName: true, Kept: "it is attached"},
	}
}

// TestTable says of each resource how it is known, and what becomes of it.
func TestTable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		byName []string
		want   []string
	}{
		"proved":  {nil, []string{"network k8s-clusterapi-cluster-a-shop a/shop n made by CAPO", "the name; stays unless you give --by-name a/shop", "the name; stays: it is attached", "1 of 3 can be deleted; give --delete to delete them\nimages were not looked for: slipway image prune --dry-run"}},
		"by name": {[]string{"shop"}, []string{"volume pvc-1 a/shop v the name\n", "2 of 3 can be deleted"}},
	} {
		r := result{Orphans: orphans(), chosen: orphan.Chosen(orphans(), test.byName)}
		var out bytes.Buffer
		if err := ui.Output(&out, "table", nil, r.table("can be deleted", "give --delete to delete them")); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, line := range strings.Split(out.String(), "\n") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		for _, want := range test.want {
			if !strings.Contains(strings.Join(lines, "\n"), want) {
				t.Errorf("%s: printed\n%s\nwithout %q", name, out.String(), want)
			}
		}
	}
	if err := known([]string{"a/shop", "shop"}, orphans()); err != nil {
		t.Errorf("names of the cluster: %v", err)
	}
	if err := known([]string{"a", "op", ""}, orphans()); err == nil || strings.Count(err.Error(), "--by-name") != 3 {
		t.Errorf("other names: %v", err)
	}
}
