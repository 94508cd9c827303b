package support

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cause"
)

// sick is a cluster whose worker found no host, and whose address is lost if that is asked for.
func sick(namespace, name string, more ...cause.Finding) Answer {
	f := cause.Finding{Reason: "no-valid-host", Object: cause.Ref{Kind: "server", Name: name + "-w1", ID: "5a1f0000-0000-4000-8000-00000000000" + name[:1]},
		Cause: "No valid host was found for " + name + "-w1.", Source: "Nova", Fix: "ask", Chain: []cause.Ref{{Kind: "Cluster", Name: name}, {Kind: "server", Name: name + "-w1"}}}
	return Answer{On: "management", Namespace: namespace, Cluster: name, Answer: cause.Answer{Findings: append([]cause.Finding{f}, more...)}}
}

// TestOneCauseOfManyClustersIsToldOnce, with their number and the first few of them; --wide
// and JSON name all. Another cause stays another.
func TestOneCauseOfManyClustersIsToldOnce(t *testing.T) {
	t.Parallel()
	r := Answers{Environment: "prod"}
	for i := range 7 {
		r.Answers = append(r.Answers, sick(fmt.Sprintf("team-%d", i), fmt.Sprintf("%cshop", 'a'+i)))
	}
	lost := cause.Finding{Reason: "floating-ip-lost", Object: cause.Ref{Kind: "floating IP", Name: "203.0.113.9"}, Cause: "it is associated with no port", Source: "Neutron"}
	second := sick("team-0", "ashop").Findings[0]
	second.Object.Name = "ashop-w2"
	r.Answers[0].Findings = append(r.Answers[0].Findings, second)
	r.Answers[3].Findings = append(r.Answers[3].Findings, lost)
	r.Answers[5].Findings[0].Cause = "Quota exceeded"
	text := r.Text()
	for _, want := range []string{"server ashop-w1: No valid host was found for ashop-w1 (says Nova)\n  also:     server ashop-w2\n  reason:   no-valid-host (6 clusters: team-0/ashop, team-1/bshop, team-2/cshop, team-3/dshop, team-4/eshop and 1 more (--wide names all))\n",
		"server fshop-w1: Quota exceeded", "floating IP 203.0.113.9: it is associated with no port (says Neutron)\n  reason:   floating-ip-lost (cluster team-3/dshop)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Count(text, "reason:") != 3 || strings.Contains(text, "gshop") {
		t.Errorf("it tells one cause more than once:\n%s", text)
	}
	if wide := r.Wide(); !strings.Contains(wide, "server gshop-w1 of team-6/gshop") || !strings.Contains(wide, "team-4/eshop, team-6/gshop)") {
		t.Errorf("--wide does not name all:\n%s", wide)
	}
	encoded, err := json.Marshal(r.shared())
	if err != nil || !strings.Contains(string(encoded), `"clusters":["team-0/ashop","team-1/bshop","team-2/cshop","team-3/dshop","team-4/eshop","team-6/gshop"]`) {
		t.Errorf("%s %v", encoded, err)
	}
}
