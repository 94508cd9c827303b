package support

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cause"
)

// TestWhatIsNotSeenOfManyIsOneLine: the same of several clusters, once with a count.
func TestWhatIsNotSeenOfManyIsOneLine(t *testing.T) {
	t.Parallel()
	late := cause.Unseen{What: cause.TheCloud, Why: "it took more than 20s"}
	r := Answers{Environment: "prod", Unseen: []cause.Unseen{{What: "the seed", Why: "it is shelved"}}}
	for _, name := range []string{"a", "b", "c"} {
		r.Answers = append(r.Answers, Answer{Namespace: "n", Cluster: name, Answer: cause.Answer{Unseen: []cause.Unseen{late, late}}})
	}
	r.Answers[1].Unseen = append(r.Answers[1].Unseen, cause.Unseen{What: "servers", Why: "forbidden"})
	_, text, _ := strings.Cut(r.Text(), "not seen:\n")
	if want := "  the seed: it is shelved\n  cluster n/a and 2 more: the cloud: it took more than 20s\n  cluster n/b: servers: forbidden\n"; text != want {
		t.Errorf("it says\n%s, want\n%s", text, want)
	}
	if len(r.Unseen) != 1 {
		t.Error("the answers themselves changed")
	}
}
