package scheduledbackup

import (
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestASchedulePrunesWhatNoRebuildNeeds: the pin of one that is complete ends, and its backup goes.
// That of an undo is not the schedule's to end.
func TestASchedulePrunesWhatNoRebuildNeeds(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	_, _, reader := writer(t)
	key, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	m := maker{client: client, userAgent: "test", settings: Settings{Environment: "demo", Target: "swift://backups/demo", Recipients: []string{reader.Recipient().String()}, Key: key[:],
		Keep: backup.Keep{Last: 1}, Every: "1h", Clouds: clouds(box, "demo", box.Passwords().Demo)}}
	at, err := location.Parse(m.settings.Target)
	if err != nil {
		t.Fatal(err)
	}
	to, err := target.Open(at, target.Access{Swift: func() (*gophercloud.ServiceClient, error) { return box.Member.ObjectStorage(t), nil }})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Add(-3 * time.Hour)
	r, err := backup.Open(t.Context(), to, backup.Options{Environment: "demo", Key: key, Recipients: m.settings.Recipients, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 3 {
		s := backuptest.Snapshot(1, now)
		s.Environment = "demo"
		b, err := r.Write(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		ids, now = append(ids, b.ID), now.Add(time.Hour)
	}
	for id, by := range map[string]backup.Holder{ids[0]: backup.HolderRecover, ids[1]: backup.HolderUndo} {
		if err := r.Pin(t.Context(), by, id); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if err := m.prune(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		all, err := r.List(t.Context())
		var left []string
		for _, b := range all {
			left = append(left, b.ID)
		}
		slices.Reverse(left)
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("%s: %v are left of %v, %v", what, left, ids, err)
		}
	}
	expect("nobody knows of a rebuild", ids...)
	if err := restore.Record(t.Context(), &kube.Cluster{Typed: client}, ids[0]); err != nil {
		t.Fatal(err)
	}
	expect("it is complete", ids[1], ids[2])
}
