package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// scheduled is what this test reads of `slipway backup list -o json`.
type scheduled struct {
	ID, Damage, Signer, Of string
	Generation             int
	Cloud                  map[string]int
}

// TestScheduledBackup has the management cluster make a backup by itself, while this
// machine does nothing but look. It is one that verify, drill and recover accept, and
// after the rebuild the backups go on.
func TestScheduledBackup(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(managementCluster)
	identity := p.backedUp()
	defer p.tell()
	p.schedule()
	p.upForTenants()
	p.operatorsCluster("shop")
	before := p.backups("management")
	// From here on nothing of this machine runs but looks at the target.
	p.eventually("a backup that the management cluster made", 12*time.Minute, func() (string, bool) {
		now := p.backups("management")
		return p.do("backup", "list"), len(now) > len(before) && now[0].Damage == "" && now[0].Cloud["servers"] > 0
	})
	latest := p.backups("management")[0]
	p.eventually("a backup that the seed made", 6*time.Minute, func() (string, bool) {
		now := p.backups("seed")
		return p.do("backup", "list"), len(now) > 0 && now[0].Damage == "" && now[0].Cloud["servers"] > 0
	})
	p.do("backup", "verify", p.backups("seed")[0].ID, "--identity", identity)
	t.Logf("backup %+v", latest)
	p.timed("verify", func() { p.do("backup", "verify", latest.ID, "--identity", identity) })
	var result struct {
		Passed   bool
		Clusters []string
	}
	p.timed("drill", func() {
		if err := json.Unmarshal([]byte(p.do("backup", "drill", latest.ID, "--identity", identity, "-o", "json")), &result); err != nil {
			t.Fatal(err)
		}
	})
	if !result.Passed || !slices.Equal(result.Clusters, []string{"shop/shop"}) {
		t.Errorf("drill %+v", result)
	}
	if out := p.do("status"); !strings.Contains(out, latest.ID) || !strings.Contains(out, "Drill") {
		t.Errorf("status says nothing of the backup and the drill:\n%s", out)
	}
	servers := p.of("shop-")
	p.lose()
	p.timed("recover", func() { p.do("recover", "--yes", "--identity", identity) })
	if after := p.of("shop-"); !slices.Equal(servers, after) {
		t.Errorf("the tenant's servers were %v, are %v", servers, after)
	}
	p.eventually("a backup of the next generation", 12*time.Minute, func() (string, bool) {
		now := p.backups("management")
		return p.do("backup", "list"), len(now) > 0 && now[0].Damage == "" && now[0].Generation == 1
	})
	p.timed("down", func() { p.goDown("--delete-clusters") })
}

// schedule adds a schedule to the backups that backedUp wrote.
func (p *project) schedule() {
	p.t.Helper()
	path := filepath.Join(p.folder, "slipway.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	changed := strings.Replace(string(text), "target: swift://backups/demo,", "target: swift://backups/demo, schedule: {every: 5m},", 1)
	if changed == string(text) {
		p.t.Fatalf("no backups in\n%s", text)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// backups are those of the management cluster or of the seed that are listed, the newest
// first.
func (p *project) backups(of string) (all []scheduled) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.do("backup", "list", "-o", "json")), &all); err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(b scheduled) bool { return b.Of != of })
}
