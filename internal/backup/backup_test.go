package backup_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"filippo.io/age"
	diff "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/fault"
)

var begin = time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)

// world is a repository in memory with a writer and two people who can read.
type world struct {
	memory       *backuptest.Memory
	options      backup.Options
	first, other *age.X25519Identity
	now          time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{memory: backuptest.NewMemory(begin), now: begin, first: identity(t), other: identity(t)}
	key, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	w.options = backup.Options{Environment: backuptest.Environment, Key: key, Now: func() time.Time { return w.now },
		Recipients: []string{w.first.Recipient().String(), w.other.Recipient().String()}}
	return w
}

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d); w.memory.Set(w.now) }

func (w *world) open(t *testing.T) *backup.Repository {
	t.Helper()
	r, err := backup.Open(t.Context(), w.memory, w.options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) write(t *testing.T, s *snapshot.Snapshot) backup.Backup {
	t.Helper()
	b, err := w.open(t).Write(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sameSnapshot(t *testing.T, got, want *snapshot.Snapshot) {
	t.Helper()
	if len(got.Objects) != len(want.Objects) {
		t.Fatalf("%d objects, not %d", len(got.Objects), len(want.Objects))
	}
	texts := func(s *snapshot.Snapshot) []string {
		var all []string
		for _, o := range s.Objects {
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
		slices.Sort(all)
		return all
	}
	if difference := diff.Diff(texts(want), texts(got)); difference != "" {
		t.Errorf("objects differ:\n%s", difference)
	}
	g, w := *got, *want
	g.Objects, w.Objects = nil, nil
	if difference := diff.Diff(w, g); difference != "" {
		t.Errorf("the rest differs:\n%s", difference)
	}
}

// TestWhatIsWrittenIsRead: everything, by each recipient, sorted, and nothing of it
// can be read on the target.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(5, begin)
	b := w.write(t, s)
	for _, one := range []age.Identity{w.first, w.other} {
		got, err := w.open(t).Read(t.Context(), b.ID, one)
		if err != nil {
			t.Fatal(err)
		}
		sameSnapshot(t, got, s)
		if !slices.IsSortedFunc(got.Objects, byName) {
			t.Error("the objects are not sorted")
		}
	}
	for name, content := range w.memory.Objects() {
		for _, secret := range []string{backuptest.Secret, "tenant-0001", "OpenStackMachine", "slipway.sh/v1alpha1"} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s shows %q", name, secret)
			}
		}
	}
	if b.Objects != len(s.Objects) || b.Cloud["servers"] != 15 || b.Kubernetes != s.Kubernetes || b.Controllers["cluster-api"] != "v1.12.3" {
		t.Errorf("what everybody reads: %+v", b)
	}
}

func byName(x, y *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(x.GroupVersionKind().Group, y.GroupVersionKind().Group), strings.Compare(x.GetKind(), y.GetKind()),
		strings.Compare(x.GetNamespace(), y.GetNamespace()), strings.Compare(x.GetName(), y.GetName()))
}

// TestNothingChanged: a second backup of the same objects adds no more than a
// hundredth, and one of a changed object the chunk that the object is in.
func TestNothingChanged(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(80, begin)
	first := w.write(t, s)
	w.pass(time.Hour)
	s.Taken, s.Revision = w.now, "4812"
	if second := w.write(t, s); second.Written*100 > first.Written {
		t.Errorf("the second wrote %d bytes, the first %d", second.Written, first.Written)
	}
	// The key of the target chooses where chunks end, so now and then an object is in a long one.
	last := first
	least := first.Written
	for i := range 10 {
		w.pass(time.Hour)
		s.Objects[7+i*len(s.Objects)/20].SetLabels(map[string]string{"changed": "yes"})
		last = w.write(t, s)
		least = min(least, last.Written)
		if last.Written > 512<<10 { // the size of a chunk
			t.Errorf("one changed object wrote %d bytes, the first backup %d", last.Written, first.Written)
		}
	}
	if least*20 > first.Written {
		t.Errorf("each changed object wrote %d bytes or more, the first backup %d", least, first.Written)
	}
	got, err := w.open(t).Read(t.Context(), last.ID, w.first)
	if err != nil {
		t.Fatal(err)
	}
	sameSnapshot(t, got, s)
}

// TestOneMoreObject: what comes in between moves no other chunk. All objects are of
// the same length, so that only their names can find the same ends of chunks again.
func TestOneMoreObject(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(0, begin)
	for n := range 2000 {
		s.Objects = append(s.Objects, backuptest.Object("v1", "Secret", "tenant", fmt.Sprintf("s-%04d", n), map[string]any{"value": backuptest.Noise(n, "", 600)}))
	}
	first := w.write(t, s)
	w.pass(time.Hour)
	s.Objects = slices.Insert(s.Objects, 5, backuptest.Object("v1", "Secret", "tenant", "s-0004a", map[string]any{"value": backuptest.Noise(5000, "", 599)}))
	if second := w.write(t, s); second.Written*10 > first.Written {
		t.Errorf("the second wrote %d bytes, the first %d", second.Written, first.Written)
	}
}

// TestNewRecipients: whoever is added reads the next backup, whoever is removed does
// not.
func TestNewRecipients(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(3, begin)
	w.write(t, s)
	w.pass(time.Hour)
	added := identity(t)
	w.options.Recipients = []string{w.first.Recipient().String(), added.Recipient().String()}
	b := w.write(t, s)
	if _, err := w.open(t).Read(t.Context(), b.ID, added); err != nil {
		t.Errorf("the new recipient: %v", err)
	}
	if _, err := w.open(t).Read(t.Context(), b.ID, w.other); err == nil {
		t.Error("the former recipient reads the new backup")
	}
}

// TestRefusals: each mistake has one clear cause, with what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(2, begin)
	b := w.write(t, s)
	read := func(o backup.Options, with ...age.Identity) error {
		r, err := backup.Open(t.Context(), w.memory, o)
		if err == nil {
			_, err = r.Read(t.Context(), b.ID, with...)
		}
		return err
	}
	elsewhere, pinned, nobody := w.options, w.options, w.options
	elsewhere.Environment = "test"
	stranger, _ := backup.NewKey()
	pinned.Signers = []string{stranger.Signer()}
	nobody.Recipients = nil
	tests := map[string]struct {
		err         error
		cause, does string
	}{
		"the key of a stranger":   {read(w.options, identity(t)), "none of the recipients", w.first.Recipient().String()},
		"another environment":     {read(elsewhere, w.first), "backups of environment prod, not of test", "another prefix"},
		"another writer":          {read(pinned, w.first), "spec.backup.signers does not name", "another backup"},
		"no such backup":          {second(w.open(t).Read(t.Context(), "2020", w.first)), "no such backup", "slipway backup list"},
		"nobody could read":       {second(must(backup.Open(t.Context(), w.memory, nobody)).Begin(t.Context())), "nobody could read", "age-keygen"},
		"before the first backup": {second(w.open(t).Latest(t.Context(), begin.Add(-time.Hour))), "the oldest backup", "later time"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.err == nil || !strings.Contains(test.err.Error(), test.cause) || !strings.Contains(fault.Remedy(test.err), test.does) {
				t.Errorf("%v (%s)", test.err, fault.Remedy(test.err))
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestANewerSlipway: its repository and its backups are refused by name, and the
// older backups beside them can be used.
func TestANewerSlipway(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(2, begin)
	b := w.write(t, s)
	about := w.memory.Objects()["repository"]
	w.memory.Forge("repository", bytes.Replace(about, []byte(`"format":1`), []byte(`"format":2`), 1))
	if _, err := backup.Open(t.Context(), w.memory, w.options); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "newer Slipway") {
		t.Errorf("the repository: %v", err)
	}
	w.memory.Forge("repository", about)
	newer := backup.NewerBackup(b, w.options.Key)
	w.memory.Forge("backups/"+newer.ID, newer.Text)
	all, err := w.open(t).List(t.Context())
	if err != nil || len(all) != 2 || !strings.Contains(all[0].Damage, "newer Slipway") {
		t.Fatalf("%+v, %v", all, err)
	}
	if latest, err := w.open(t).Latest(t.Context(), time.Time{}); err != nil || latest.ID != b.ID {
		t.Errorf("the newest is %s, %v", latest.ID, err)
	}
	if _, err := w.open(t).Latest(t.Context(), begin.Add(-time.Hour)); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "the oldest backup is of "+begin.Format(time.RFC3339)) {
		t.Errorf("before the one that can be used: %v", err)
	}
}

// names of the objects in a folder.
func names(w *world, folder string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.memory.Objects())), func(name string) bool { return !strings.HasPrefix(name, folder) })
}

// TestFiles come back as they were, and a database of which one page changed adds
// little.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := backuptest.Snapshot(1, begin)
	s.Etcd, s.Datastore = []byte(backuptest.Noise(1, "etcd", 3<<20)), []byte(backuptest.Noise(2, "datastore", 100_001))
	first := w.write(t, s)
	if first.Etcd != 3<<20 || first.Datastore != 100_001 {
		t.Errorf("the backup says %d and %d bytes", first.Etcd, first.Datastore)
	}
	read, err := w.open(t).Read(t.Context(), first.ID, w.first)
	if err != nil || !bytes.Equal(read.Etcd, s.Etcd) || !bytes.Equal(read.Datastore, s.Datastore) {
		t.Fatalf("read %d and %d bytes, %v", len(read.Etcd), len(read.Datastore), err)
	}
	s.Etcd[1<<20] ^= 1
	w.pass(time.Hour)
	if second := w.write(t, s); second.Written > 200<<10 {
		t.Errorf("one page more added %d bytes", second.Written)
	}
}

// TestAFileThatBreaksOff leaves the rest of the backup whole.
func TestAFileThatBreaksOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := backuptest.Snapshot(1, begin)
	writer, err := w.open(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(strings.NewReader(backuptest.Noise(1, "etcd", 200_000)), iotest.ErrReader(errors.New("connection lost")))
	if _, err := writer.AddFile(backup.FileEtcd, broken); err == nil || !strings.Contains(err.Error(), "connection lost") {
		t.Errorf("told %v", err)
	}
	if _, err := writer.AddFile("passwd", strings.NewReader("x")); err == nil {
		t.Error("a file of any name is taken")
	}
	b, err := writer.Commit(t.Context(), s)
	if err != nil || b.Etcd != 0 {
		t.Fatalf("%d bytes, %v", b.Etcd, err)
	}
	read, err := w.open(t).Read(t.Context(), b.ID, w.other)
	if err != nil || len(read.Etcd) != 0 || !bytes.Equal(read.State, s.State) {
		t.Errorf("read %d bytes, %v", len(read.Etcd), err)
	}
}
