package api

import (
	"encoding/json"
	"testing"
)

// Not parallel: it counts allocations.
func TestAppendText(t *testing.T) {
	for _, text := range []string{"", "https://api.example.org:9511/v1/clusters/1", `a "quoted" \ text`, "line\nend", "\x00\x1f\x7f", "größe", "<&>", "\xff", "\u2028"} {
		var back string
		got := appendText([]byte("x"), text)
		want, err := encode(text)
		if err != nil || string(got) != "x"+string(want) {
			t.Errorf("%q is %s, want x%s, %v", text, got, want, err)
		}
		if err := json.Unmarshal(got[1:], &back); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	body := make([]byte, 0, 64)
	if allocations := testing.AllocsPerRun(10, func() { appendText(body, "https://api.example.org") }); allocations > 0 {
		t.Errorf("a plain text takes %v allocations", allocations)
	}
}
