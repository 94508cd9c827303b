package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// soon is how long a wait may last once it is known to be in vain.
const soon = 45 * time.Second

// nova is a cloud in memory, so that a test can have a clock of its own: Keystone, and one
// server of Nova.
type nova struct {
	// state and task are the server's by time since the start; fault is its message.
	state func(time.Duration) (status, task string)
	fault string
	begun time.Time
}

func (n *nova) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := http.StatusOK, `{"versions": {"values": [{"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": "http://cloud.example/identity/v3/"}]}]}}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/auth/tokens"):
		code, body = http.StatusCreated, `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "project": {"id": "p"}, "user": {"id": "u"}, "catalog": [{"type": "compute", "name": "nova",
			"endpoints": [{"interface": "public", "region": "R", "region_id": "R", "url": "http://cloud.example/compute/v2.1"}]}]}}`
	case strings.HasSuffix(r.URL.Path, "/action"):
		code, body = http.StatusAccepted, ""
	case strings.Contains(r.URL.Path, "/servers/"):
		status, task := n.state(time.Since(n.begun))
		body = fmt.Sprintf(`{"server": {"id": "s", "name": "demo-seed", "status": %q, "OS-EXT-STS:task_state": %q, "fault": {"message": %q}}}`, status, task, n.fault)
	case strings.HasPrefix(r.URL.Path, "/compute"):
		body = `{"version": {"id": "v2.1", "status": "CURRENT", "version": "2.90", "min_version": "2.1", "links": [{"rel": "self", "href": "http://cloud.example/compute/v2.1/"}]}}`
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}, "X-Subject-Token": {"t"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// novaLogin logs in to that cloud.
func novaLogin(n *nova) cloud.Options {
	return cloud.Options{Cloud: "c", CloudsYAML: []byte("clouds: {c: {region_name: R, auth: {auth_url: 'http://cloud.example/identity', username: u, password: x, project_name: p, user_domain_name: d, project_domain_name: d}}}"),
		Wrap: func(http.RoundTripper) http.RoundTripper { return n }}
}

// TestAShelfEndsWithItsCause: a server in ERROR, and one whose shelving Nova dropped without a
// word, end the wait; one that works is waited for, to its end or to the limit.
func TestAShelfEndsWithItsCause(t *testing.T) {
	t.Parallel()
	at := func(status, task string) func(time.Duration) (string, string) {
		return func(time.Duration) (string, string) { return status, task }
	}
	for name, test := range map[string]struct {
		state      func(time.Duration) (string, string)
		fault      string
		least, end time.Duration
		says       string
	}{
		"in ERROR": {at("ERROR", ""), "No valid host was found.", 0, soon, "it stays ERROR: No valid host was found."},
		"dropped":  {at("ACTIVE", ""), "", shelfIdle, soon, "it stays ACTIVE: the cloud gives no cause"},
		"done": {func(after time.Duration) (string, string) {
			if after < 3*time.Minute {
				return "ACTIVE", "shelving_image_uploading"
			}
			return "SHELVED_OFFLOADED", ""
		}, "", 3 * time.Minute, 3*time.Minute + 5*time.Second, ""},
		"never done": {at("ACTIVE", "shelving_image_uploading"), "", shelfTime, shelfTime + soon, "it was not done after 10m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &nova{state: test.state, fault: test.fault, begun: time.Now()}
				c, err := cloud.Open(t.Context(), novaLogin(n))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				target := &Target{}
				target.Cloud = c
				begun := time.Now()
				_, err = target.Shelve(t.Context(), &Seed{Name: "demo-seed", ServerID: "s"}, event.Discard{})
				took := time.Since(begun)
				if took < test.least || took > test.end || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// TestASnapshotSaysWhetherTheSeedIsShelved, and the cloud is asked again only if the snapshot
// does not know.
func TestASnapshotSaysWhetherTheSeedIsShelved(t *testing.T) {
	t.Parallel()
	server := func(environment, step, status string) cloud.ServerInfo {
		owner := ownership.New(environment, step)
		return cloud.ServerInfo{Resource: cloud.Resource{Owner: &owner}, Status: status}
	}
	target := &Target{Loaded: &config.Loaded{Environment: &config.Environment{Metadata: config.Metadata{Name: "demo"}}}}
	for name, test := range map[string]struct {
		servers []cloud.ServerInfo
		want    bool
	}{
		"no seed":             {[]cloud.ServerInfo{{Status: "SHELVED"}}, false},
		"one that runs":       {[]cloud.ServerInfo{server("demo", stacks.StepSeed, "ACTIVE")}, false},
		"one that is off":     {[]cloud.ServerInfo{server("demo", stacks.StepSeed, "SHUTOFF")}, false},
		"shelved":             {[]cloud.ServerInfo{server("demo", stacks.StepManagementCluster, "ACTIVE"), server("demo", stacks.StepSeed, "SHELVED_OFFLOADED")}, true},
		"that of another":     {[]cloud.ServerInfo{server("other", stacks.StepSeed, "SHELVED")}, false},
		"another that sleeps": {[]cloud.ServerInfo{server("demo", stacks.StepManagementCluster, "SHELVED")}, false},
	} {
		got, err := target.Asleep(t.Context(), preflight.Result{Snapshot: &cloud.Snapshot{Servers: test.servers}})
		if err != nil || got != test.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
	n := &nova{state: func(time.Duration) (string, string) { return "ACTIVE", "" }, begun: time.Now()}
	c, err := cloud.Open(t.Context(), novaLogin(n))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	target.Inventory = openstack.Inventory{Clients: c}
	for name, seen := range map[string]*cloud.Snapshot{"no snapshot": nil, "no list": {Missing: []cloud.Missing{{Service: cloud.Compute, What: cloud.ListServers}}}} {
		if _, err := target.Asleep(t.Context(), preflight.Result{Snapshot: seen}); err == nil { // it has no network
			t.Errorf("%s: the cloud is not asked", name)
		}
	}
}

// TestAWokenSeedThatIsAnotherEndsTheWait: a login that is refused; one that starts is waited
// for, until it answers some times in a row.
func TestAWokenSeedThatIsAnotherEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, asked := time.Now(), 0
		err := (&Seed{Name: "demo-seed"}).ready(t.Context(), event.Start(event.Discard{}, "seed", "waking"), func(context.Context) error {
			if asked++; asked == 2 || time.Since(begun) < 10*time.Second && asked > 2 {
				return errors.New("connection refused")
			}
			return nil
		})
		if took := time.Since(begun); err != nil || took < 10*time.Second || took > soon {
			t.Errorf("one that falters: after %s: %v", took, err)
		}
	})
	for name, test := range map[string]struct {
		err        error
		least, end time.Duration
	}{
		"refused":   {apierrors.NewUnauthorized("no"), 0, soon},
		"it starts": {errors.New("connection refused"), answerTime, answerTime + soon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				step := event.Start(event.Discard{}, "seed", "waking")
				begun := time.Now()
				err := (&Seed{Name: "demo-seed"}).ready(t.Context(), step, func(context.Context) error { return test.err })
				if took := time.Since(begun); err == nil || took < test.least || took > test.end || fault.Remedy(err) == "" || !strings.Contains(err.Error(), test.err.Error()) {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}
