package target_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"

	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func open(t *testing.T, url string, a target.Access) target.Target {
	t.Helper()
	l, err := location.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := target.Open(l, a)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// contract is what each target promises. The store holds nothing below the prefix
// of the target.
func contract(t *testing.T, one target.Target) {
	t.Helper()
	ctx := t.Context()
	if all, err := one.List(ctx, ""); err != nil || len(all) != 0 {
		t.Fatalf("at first: %v, %v", all, err)
	}
	if _, err := one.Get(ctx, "packs/a"); !errors.Is(err, target.ErrAbsent) {
		t.Errorf("what is not there: %v", err)
	}
	if err := one.Delete(ctx, "packs/a"); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for name, content := range map[string][]byte{"packs/a": big, "packs/b": {}, "repository": []byte("{}\n")} {
		if err := one.Put(ctx, name, content); err != nil {
			t.Fatal(err)
		}
		if got := read(t, one, name); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes, not %d", name, len(got), len(content))
		}
	}
	if err := one.Put(ctx, "packs/a", []byte("other")); !errors.Is(err, target.ErrExists) {
		t.Errorf("putting again: %v", err)
	}
	if got := read(t, one, "packs/a"); !bytes.Equal(got, big) {
		t.Error("an object was replaced")
	}
	all, err := one.List(ctx, "packs/")
	if err != nil || len(all) != 2 || all[0].Name != "packs/a" || all[0].Size != int64(len(big)) || all[1].Name != "packs/b" || time.Since(all[0].Modified).Abs() > time.Hour {
		t.Errorf("listed %+v, %v", all, err)
	}
	if err := one.Delete(ctx, "packs/a"); err != nil {
		t.Error(err)
	}
	if _, err := one.Get(ctx, "packs/a"); !errors.Is(err, target.ErrAbsent) {
		t.Errorf("what was deleted: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if err := one.Put(ended, "late", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// atomic is the contract, and that of several at once one alone puts an object.
func atomic(t *testing.T, one target.Target) {
	t.Helper()
	contract(t, one)
	won, results, got := race(t, one)
	for i, err := range results {
		if i != won && !errors.Is(err, target.ErrExists) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if won < 0 || got != fmt.Sprint(won) {
		t.Errorf("%q is there, and writer %d was first", got, won)
	}
}

// race has several put an object at once, and returns one who could, and what is there then.
func race(t *testing.T, one target.Target) (won int, results []error, got string) {
	t.Helper()
	var group sync.WaitGroup
	results = make([]error, 8)
	for i := range results {
		group.Go(func() { results[i] = one.Put(t.Context(), "backups/race", fmt.Append(nil, i)) })
	}
	group.Wait()
	won = slices.IndexFunc(results, func(err error) bool { return err == nil })
	return won, results, string(read(t, one, "backups/race"))
}

func read(t *testing.T, one target.Target, name string) []byte {
	t.Helper()
	body, err := one.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	atomic(t, open(t, "file://"+dir, target.Access{}))
	info, err := os.Stat(filepath.Join(dir, "repository"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// TestAFolderThatIsALink: a disk may be mounted elsewhere.
func TestAFolderThatIsALink(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	atomic(t, open(t, "file://"+link, target.Access{}))
}

// TestHalfAFileIsNotListed: what a killed writer left of a file is no object.
func TestHalfAFileIsNotListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".writing-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := open(t, "file://"+dir, target.Access{}).List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestHalvesOfKilledWritersGo, when they are old, and nothing else does.
func TestHalvesOfKilledWritersGo(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	one := open(t, "file://"+dir, target.Access{})
	if err := one.Put(t.Context(), "packs/a", []byte("whole")); err != nil {
		t.Fatal(err)
	}
	const old = 72 * time.Hour
	for name, age := range map[string]time.Duration{".writing-1": old, "packs/.writing-2": old, "packs/.writing-3": time.Minute, "packs/.theirs": old, "packs/a": old} {
		path := filepath.Join(dir, name)
		if name != "packs/a" {
			if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		dry   bool
		files int
	}{{true, 2}, {false, 2}, {false, 0}} {
		files, size, err := target.Tidy(one, []string{"", "packs/", "pins/"}, now.Add(-48*time.Hour), test.dry)
		if err != nil || files != test.files || size != int64(4*test.files) {
			t.Errorf("%+v: %d files, %d bytes, %v", test, files, size, err)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, "packs"))
	if err != nil || len(left) != 3 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestFolderThatIsFull(t *testing.T) {
	t.Parallel()
	err := open(t, "file:///dev/full", target.Access{}).Put(t.Context(), "a", []byte("x"))
	if err == nil || fault.Remedy(err) == "" {
		t.Errorf("%v", err)
	}
}

func TestSwift(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.ObjectStorage(t)
	access := target.Access{Swift: func() (*gophercloud.ServiceClient, error) { return client, nil }}
	atomic(t, open(t, "swift://backups/prod/a", access))
	atomic(t, open(t, "swift://backups/prod/ab", access))
}

// TestSwiftThatIsFull: a quota is told as that.
func TestSwiftThatIsFull(t *testing.T) {
	t.Parallel()
	full(t, sandboxtest.Start(t).Member.ObjectStorage(t))
}

// full fills a container with a quota.
func full(t *testing.T, client *gophercloud.ServiceClient) {
	t.Helper()
	if _, err := containers.Create(t.Context(), client, "small", containers.CreateOpts{Metadata: map[string]string{"Quota-Bytes": "10"}}).Extract(); err != nil {
		t.Fatal(err)
	}
	one := open(t, "swift://small", target.Access{Swift: func() (*gophercloud.ServiceClient, error) { return client, nil }})
	err := one.Put(t.Context(), "a", make([]byte, 100))
	if !errors.Is(err, target.ErrFull) || !strings.Contains(fault.Remedy(err), "quota") {
		t.Errorf("%v", err)
	}
}
