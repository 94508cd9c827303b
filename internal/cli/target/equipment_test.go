package target

import (
	"encoding/pem"
	"strings"
	"testing"
)

// TestCertificatesOfTwoFiles: all of them are read, however the first file ends.
func TestCertificatesOfTwoFiles(t *testing.T) {
	t.Parallel()
	made := func(content string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(content)}))
	}
	one, two := made("one"), made("two")
	for name, test := range map[string]struct {
		first, second, want string
	}{
		"both":         {one, two, "one two"},
		"an open line": {strings.TrimSpace(one), two, "one two"},
		"one":          {strings.TrimSpace(one), "", "one"},
		"the other":    {"", strings.TrimSpace(two), "two"},
		"none":         {"", "", ""},
	} {
		var found []string
		for block, rest := pem.Decode([]byte(pems(test.first, test.second))); block != nil; block, rest = pem.Decode(rest) {
			found = append(found, string(block.Bytes))
		}
		if got := strings.Join(found, " "); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
