package cloud

import (
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestALongListIsNoServiceThatHangs: Nova answers, and has too many servers to list them in
// time; Octavia does not answer at all.
func TestALongListIsNoServiceThatHangs(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	rule(t, box, faultinject.Rule{Service: "compute", Path: "/v2.1/servers/detail", Delay: faultinject.Duration(time.Minute)})
	rule(t, box, faultinject.Rule{Service: "load-balancer", Delay: faultinject.Duration(time.Minute)})
	c, _ := open(t, box)
	s, err := c.take(t.Context(), diagnosis(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	late := map[string]bool{}
	for _, m := range s.Missing {
		late[m.What] = m.Slow
	}
	for what, want := range map[string]bool{ListServers: true, ListBalancers: false} {
		if slow, missing := late[what]; !missing || slow != want {
			t.Errorf("%s: missing %t, slow %t: %+v", what, missing, slow, s.Missing)
		}
	}
}
