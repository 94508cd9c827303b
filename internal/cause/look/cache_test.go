package look

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func member(t *testing.T, box *sandboxtest.Cloud) cloud.Options {
	t.Helper()
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	return cloud.Options{Cloud: "sandbox", CloudsYAML: text}
}

// counted is a rule that hits nothing and counts the calls of a service.
func counted(t *testing.T, box *sandboxtest.Cloud, service, path string) func() int {
	t.Helper()
	r, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: service, Path: path, Delay: faultinject.Duration(time.Microsecond)})
	if err != nil {
		t.Fatal(err)
	}
	return func() int {
		for _, one := range box.Faults.List() {
			if one.ID == r.ID {
				return one.Calls
			}
		}
		t.Fatal("the rule is gone")
		return 0
	}
}

// TestAProjectIsReadOnceAMinute for all credentials that see it.
func TestAProjectIsReadOnceAMinute(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	calls := counted(t, box, "compute", "/v2.1/servers/detail")
	now := time.Now()
	c, o := NewCache(func() time.Time { return now }), member(t, box)
	for range 5 {
		if taken := c.Ask(t.Context(), o, nil); taken == nil || taken.Refused != nil || len(taken.Missing) > 0 || taken.Project == "" || len(taken.Flavors) == 0 {
			t.Fatalf("taken %+v", taken)
		}
	}
	if calls() != 1 {
		t.Errorf("Nova was asked %d times", calls())
	}
	now = now.Add(61 * time.Second)
	c.Ask(t.Context(), o, nil)
	if calls() != 2 {
		t.Errorf("after a minute Nova was asked %d times", calls())
	}
}

// TestLookDoesNotWait: the first answer is unknown, a later one is there, and a
// credential that is refused says so.
func TestLookDoesNotWait(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	logins := counted(t, box, "identity", "/v3/auth/tokens")
	c, o := NewCache(time.Now), member(t, box)
	await := func(key string, o cloud.Options) *cause.Cloud {
		t.Helper()
		first, again := c.Look(t.Context(), key, o)
		if first != nil || again > 10*time.Second {
			t.Errorf("first look: %v, again after %s", first, again)
		}
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if taken, again := c.Look(t.Context(), key, o); taken != nil {
				if again <= 0 || again > fresh {
					t.Errorf("looks again after %s", again)
				}
				return taken
			}
		}
		t.Fatal("no answer")
		return nil
	}
	if taken := await("a", o); taken.Refused != nil || len(taken.Flavors) == 0 {
		t.Errorf("taken %+v", taken)
	}
	before := logins()
	for range 10 {
		c.Look(t.Context(), "a", o)
	}
	if logins() != before {
		t.Error("a fresh answer logs in again")
	}
	o.CloudsYAML = []byte(strings.ReplaceAll(string(o.CloudsYAML), "password: ", "password: x"))
	if taken := await("b", o); taken.Refused == nil || taken.Refused.Status != 401 {
		t.Errorf("a wrong password: %+v", taken.Refused)
	}
}

// TestCredentialsThatWereReplacedAreForgotten: their answers would stay as long as the program runs.
func TestCredentialsThatWereReplacedAreForgotten(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	begun := time.Now()
	c := NewCache(func() time.Time { return begun.Add(time.Duration(later.Load())) })
	o := cloud.Options{Cloud: "gone", CloudsYAML: []byte("clouds: {}")}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if taken, _ := c.Look(t.Context(), "secret@1", o); taken != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no answer")
		}
	}
	c.Look(t.Context(), "secret@2", o)
	later.Store(int64(4 * fresh))
	c.Look(t.Context(), "secret@3", o)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, kept := c.credentials["secret@1"]; kept || c.credentials["secret@3"] == nil {
		t.Errorf("it remembers %d credentials, and the replaced one: %t", len(c.credentials), kept)
	}
}

// TestMissingListsAreNamed: what the cloud does not show is unknown, not absent.
func TestMissingListsAreNamed(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	if _, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "compute", Path: "/v2.1/servers/detail", Status: 403}); err != nil {
		t.Fatal(err)
	}
	taken := NewCache(time.Now).Ask(context.Background(), member(t, box), nil)
	if len(taken.Missing) != 1 || taken.Missing[0].What != cause.ListServers || taken.Missing[0].Why == "" {
		t.Errorf("missing %+v", taken.Missing)
	}
}
