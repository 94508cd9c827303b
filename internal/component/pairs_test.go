package component

import "testing"

// TestPairsSayWhatIsRefused: the first version outside of what a pair says is refused, and
// those at its ends are not.
func TestPairsSayWhatIsRefused(t *testing.T) {
	t.Parallel()
	want := map[string][2]string{
		"capo with orc": {"v2.0", ""}, "capo with cluster-api": {"v1.11", ""}, "cluster-api with kubernetes": {"v1.29", "v1.34"},
		"cloud-provider-openstack with kubernetes": {"v1.34", "v1.34"}, "etcd with kubernetes": {"", ""}, "k3s with cluster-api": {"v1.12", "v1.16"},
	}
	for _, p := range Pairs() {
		if p.Why == "" || p.Version == "" || p.Tested == "" {
			t.Errorf("%+v is not complete", p)
		}
		if ends, ok := want[p.Part+" with "+p.With]; ok && ends != [2]string{p.From, p.To} {
			t.Errorf("%+v, want %v", p, ends)
		}
		delete(want, p.Part+" with "+p.With)
	}
	if len(want) > 0 {
		t.Errorf("no pair of %v", want)
	}
}

func TestStridesNameEachPartOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Strides() {
		for _, part := range s.Parts {
			if seen[part] || s.Minors != strides()[part].minors || s.Why == "" {
				t.Errorf("%s: %+v", part, s)
			}
			seen[part] = true
		}
	}
	if len(seen) != len(strides()) {
		t.Errorf("parts %v", seen)
	}
}
