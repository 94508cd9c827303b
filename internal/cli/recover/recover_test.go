package recover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

func TestFlagsAreCheckedAllAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	for path, text := range map[string]string{good: key.String() + "\n", bad: "AGE-SECRET-KEY-1NOTAKEY\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		o     options
		wrong []string
	}{
		"good":       {options{identity: good, watch: time.Minute, at: "2026-03-01T04:00:00Z"}, nil},
		"everything": {options{identity: bad, at: "yesterday"}, []string{"--at yesterday", "--watch", "no file of age keys"}},
		"no file":    {options{identity: filepath.Join(dir, "none"), watch: time.Minute}, []string{"--identity"}},
	} {
		w, err := test.o.wanted()
		if len(fault.All(err)) != len(test.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		for _, one := range test.wrong {
			if err == nil || !strings.Contains(err.Error(), one) || fault.ExitCode(err) != fault.ExitUsage {
				t.Errorf("%s: %v has no %q", name, err, one)
			}
		}
		if err != nil && strings.Contains(err.Error(), "NOTAKEY") {
			t.Errorf("%s: the key is shown: %v", name, err)
		}
		if test.wrong == nil && (len(w.Identities) != 1 || w.At.Hour() != 4) {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

func TestExitCodesAfterTheFirstObject(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]fault.Exit{
		fault.New("Machine a/a", errors.New("gone"), "x"):   fault.ExitPartial,
		fault.Usage("Machine a/a", errors.New("gone"), "x"): fault.ExitPartial,
		fmt.Errorf("work: %w", context.Canceled):            fault.ExitInterrupted,
	} {
		if got := fault.ExitCode(partly(err)); got != want {
			t.Errorf("%v: %d", err, got)
		}
	}
	if partly(nil) != nil {
		t.Error("no error becomes one")
	}
	several := partly(errors.Join(fault.New("a", errors.New("x"), "fix a"), fault.New("b", errors.New("y"), "fix b")))
	if all := fault.All(several); len(all) != 2 || fault.Remedy(all[1]) != "fix b" {
		t.Errorf("told as %v", all)
	}
}

func TestOnlyFormerCredentialsOfTheEnvironmentAreRevoked(t *testing.T) {
	t.Parallel()
	things := []openstack.Resource{{Type: "application credential", ID: "new", Step: "credential"}, {Type: "application credential", ID: "old", Step: "credential"},
		{Type: "application credential", ID: "tenant", Step: "cluster-shop-0123abcd"}, {Type: "application credential", ID: "backups", Step: "backup-login"}, {Type: "application credential", ID: "seed", Step: "datastore-login"}, {Type: "server", ID: "old", Step: "credential"}}
	var ids []string
	for _, thing := range former(things, map[string]string{"credential": "new"}) {
		ids = append(ids, thing.ID)
	}
	if !slices.Equal(ids, []string{"old", "backups", "seed"}) {
		t.Errorf("revoked %v", ids)
	}
}

func TestARunThatGoesOnKnowsItsOwnMachines(t *testing.T) {
	t.Parallel()
	taken := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		one  clusterapi.Report
		want bool
	}{
		"made since":          {clusterapi.Report{Name: "prod", Exists: true, Created: taken.Add(time.Hour)}, true},
		"that of the backup":  {clusterapi.Report{Name: "prod", Exists: true, Created: taken.Add(-time.Hour)}, false},
		"its Cluster is gone": {clusterapi.Report{Name: "prod", Created: taken.Add(time.Hour)}, false},
		"another":             {clusterapi.Report{Name: "shop", Exists: true, Created: taken.Add(time.Hour)}, false},
	} {
		if got := young([]clusterapi.Report{test.one}, "prod", taken); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	err := remains([]openstack.Resource{{Type: openstack.TypeServer, Name: "prod-md-0-a", ID: "1", Step: stacks.StepManagementCluster},
		{Type: openstack.TypeServer, Name: "prod-seed", Step: stacks.StepSeed}, {Type: openstack.TypePort, Name: "prod-md-0-b", Step: stacks.StepManagementCluster}})
	if all := fault.All(err); len(all) != 1 || !strings.Contains(fault.Remedy(all[0]), "openstack server delete 1") {
		t.Errorf("servers of the former cluster: %v", err)
	}
}

func TestTheTableNamesObjectCauseAndTimes(t *testing.T) {
	t.Parallel()
	r := result{Backup: "b1", Taken: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), RTO: 300, RPO: 3600, Parts: []Part{{"restore", 12}},
		Checks: []recovery.Check{{ID: "machines", Claim: "c", State: recovery.Refuted, Checked: 7, Findings: []recovery.Finding{{Object: "Machine a/a-1", Cause: "its server x is gone", Remedy: "look"}}}}}
	table := r.table()
	text := fmt.Sprint(table.Rows, table.Footer)
	for _, want := range []string{"machines failed 7", "Machine a/a-1: its server x is gone", "fix: look", "RTO 5m", "RPO 1h", "restore", "2026-03-01T03:00:00Z"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
