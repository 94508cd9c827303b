package look

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestClustersOfAProjectShareItsAnswer, and what is read one by one is bounded: whose was not
// read says so.
func TestClustersOfAProjectShareItsAnswer(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	consoles := counted(t, box, "compute", "/v2.1/servers/*/action")
	logins := counted(t, box, "identity", "/v3/auth/tokens")
	o := member(t, box)
	var questions []Question
	for i := range 30 {
		questions = append(questions, Question{Login: o, Closer: func(*cause.Cloud) (d cause.Details) {
			for j := range 3 {
				d.Consoles = append(d.Consoles, fmt.Sprintf("server-%d-%d", i, j))
			}
			return d
		}})
	}
	questions = append(questions, Question{Login: o})
	replies := NewCache(time.Now).AskAll(t.Context(), questions)
	if n := logins(); n != 1 {
		t.Errorf("%d logins with one credential", n)
	}
	if n := consoles(); n != mostOfProject {
		t.Errorf("%d consoles were asked for, want %d", n, mostOfProject)
	}
	silent := 0
	for i, r := range replies {
		if r.Cloud == nil || i < 30 && r.Cloud != replies[0].Cloud {
			t.Fatalf("reply %d has a cloud of its own", i)
		}
		if len(r.Unseen) > 0 {
			silent++
			if !strings.Contains(r.Unseen[0].Why, "ask about this cluster alone") {
				t.Errorf("it says %v", r.Unseen)
			}
		}
	}
	if silent != 30-mostOfProject/3 { // the 14th has one of three
		t.Errorf("%d say that something was not read", silent)
	}
}

// TestAServiceThatHangsCostsItsOwnLists: an Octavia that takes calls and does not answer, also
// not for its versions.
func TestAServiceThatHangsCostsItsOwnLists(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	if _, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "load-balancer", Delay: faultinject.Duration(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	taken := NewCache(time.Now).Ask(context.Background(), member(t, box), nil)
	if took := time.Since(began); taken == nil || took > 15*time.Second {
		t.Fatalf("after %s: %+v", took, taken)
	}
	var missing []string
	for _, m := range taken.Missing {
		missing = append(missing, m.What)
		if !strings.Contains(m.Why, "no answer within") {
			t.Errorf("%s: %s", m.What, m.Why)
		}
	}
	if len(taken.Flavors) == 0 || !slices.Contains(missing, cause.ListBalancers) || slices.Contains(missing, cause.ListServers) {
		t.Errorf("missing %v of %+v", missing, taken)
	}
}

// TestAKeystoneThatHangsDoesNotAnswer: that is the cause, and not that the questions took long.
// Who has no time left has not found that out.
func TestAKeystoneThatHangsDoesNotAnswer(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	o := cloud.Options{Cloud: "c", CloudsYAML: []byte("clouds: {c: {auth: {auth_url: '" + server.URL + "/v3/', username: u, password: p, project_name: x, user_domain_id: default, project_domain_id: default}}}")}
	c := NewCache(time.Now)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if taken := c.Ask(short, o, nil); taken != nil || len(c.outages.by) > 0 {
		t.Errorf("without time it found %+v, and remembers %v", taken, c.outages.by)
	}
	c.loginTime = 200 * time.Millisecond
	if taken := c.Ask(t.Context(), o, nil); taken == nil || taken.Refused == nil || !taken.Refused.Silent() || len(c.outages.by) != 1 {
		t.Errorf("%+v, and it remembers %v", taken, c.outages.by)
	}
}

// TestWhyALoginFailed: a clouds.yaml that cannot be used is no Keystone that is down, and one
// that is down is asked again after a while.
func TestWhyALoginFailed(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{"no entry": "clouds: {x: {auth: {auth_url: 'http://127.0.0.1:1'}}}", "no YAML": "clouds: [", "no auth_url": "clouds: {sandbox: {auth: {username: u}}}"} {
		taken := NewCache(time.Now).Ask(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: []byte(yaml)}, nil)
		if taken.Refused == nil || !taken.Refused.Malformed || taken.Refused.Silent() {
			t.Errorf("%s: %+v", name, taken.Refused)
		}
	}
	var o outages
	now := time.Now()
	down, refused := Refusal(context.DeadlineExceeded), &cloud.Error{Status: 401}
	if !down.Silent() || Refusal(refused).Silent() {
		t.Error("the wrong one is silent")
	}
	o.note("a", now, refused)
	if o.now("a", now) != nil {
		t.Error("a refusal is of who asks")
	}
	o.note("a", now, context.DeadlineExceeded)
	if o.now("a", now.Add(outage-time.Second)) == nil || o.now("b", now) != nil || o.now("a", now.Add(outage)) != nil {
		t.Error("it is not remembered for a while")
	}
	o.note("a", now, nil)
	if o.now("a", now) != nil {
		t.Error("it answers again, and is not asked")
	}
}
