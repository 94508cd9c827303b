package suggest

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	candidates := []string{"flavor", "image", "externalNetwork", "sshCIDRs", "sizeGiB"}
	for word, want := range map[string]string{
		"flavour": "flavor", "Image": "image", "externalNet": "externalNetwork", "sshcidrs": "sshCIDRs", "sizeGB": "sizeGiB",
		"s": "", "bananas": "", "": "", "sizegib": "sizeGiB",
	} {
		if got := Nearest(word, candidates); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}
