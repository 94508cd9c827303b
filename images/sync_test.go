package images

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// proves: F58, S-29, S-31
func TestSyncUploadsOnceAndDescribes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := qcow2(1)
	i := f.node(t, "ubuntu-kube-v1.34.2", data)
	i.Tags, i.Protected, i.MinRAM, i.Visibility = []string{"managed"}, true, 1024, "community"
	i.Properties = map[string]string{"hw_disk_bus": "scsi", "hw_scsi_model": "virtio-scsi"}
	result := f.sync(t, i)
	if result.Action != Upload || !result.Changed || result.Bytes != int64(len(data)) {
		t.Errorf("result %+v", result)
	}
	r, err := f.Glance.Get(t.Context(), result.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"os_distro": "ubuntu", "os_version": "24.04", "os_type": "linux", "os_admin_user": "ubuntu", "image_original_user": "ubuntu",
		"kube_version": "v1.34.2", "kubernetes_version": "v1.34.2", "hw_disk_bus": "scsi", "hw_scsi_model": "virtio-scsi", "image_build_date": "2024-02-29",
		"provided_until": "2025-03-01", "uuid_validity": "2025-03-01", "replace_frequency": "never"} {
		if got := r.Properties[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !r.Active() || r.MinDisk != 1 || r.MinRAM != 1024 || !r.Protected || r.Visibility != "community" || !slices.Contains(r.Tags, "managed") || r.DiskFormat != "qcow2" {
		t.Errorf("record %+v", r)
	}
	if _, there := r.Properties[PropertyLease]; there || r.HashValue != sha512of(data) {
		t.Errorf("lease left: %v; hash %s", there, r.HashValue)
	}
	f.calls.take()
	if again := f.sync(t, i); again.Changed || again.ID != result.ID || again.Action != Use {
		t.Errorf("the second time: %+v", again)
	}
	if calls := f.calls.take(); len(calls) != 1 {
		t.Errorf("the second time took the calls %v", calls)
	}
	i.Properties["hw_disk_bus"], i.Protected = "virtio", false
	if again := f.sync(t, i); !again.Changed || again.ID != result.ID || again.Bytes != 0 {
		t.Errorf("a changed description: %+v", again)
	}
}

// proves: F60
func TestSyncUnpacksAndConverts(t *testing.T) {
	t.Parallel()
	disk := imagetest.Disk(7, 1)
	plain := imagetest.Qcow2(disk, imagetest.Options{})
	bz2, err := os.ReadFile(filepath.Join("disk", "testdata", "disk.qcow2.bz2"))
	if err != nil {
		t.Fatal(err)
	}
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, _ = w.Write(disk)
	_ = w.Close()
	for name, test := range map[string]struct {
		published       []byte
		format, convert string
		want            []byte
	}{
		"node.qcow2":        {plain, "qcow2", "raw", disk},
		"packed.qcow2":      {imagetest.Qcow2(disk, imagetest.Options{Compressed: true}), "qcow2", "raw", disk},
		"node.qcow2.bz2":    {bz2, "qcow2", "", plain},
		"raw of qcow2.bz2":  {bz2, "qcow2", "raw", disk},
		"node.raw.gz":       {gz.Bytes(), "raw", "", disk},
		"unnamed gzip, raw": {gz.Bytes(), "raw", "", disk},
	} {
		for _, from := range []string{"file", "file without a digest", "web"} {
			t.Run(name+" from "+from, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				i := f.node(t, name, test.published)
				i.Format, i.Convert = test.format, test.convert
				digest := i.Digest()
				if from == "file without a digest" {
					i.SHA512 = ""
				}
				if from == "web" {
					i.URL, i.File = web(t, "x/"+strings.ReplaceAll(name, " ", "_"), test.published), ""
				}
				result := f.sync(t, i)
				r, err := f.Glance.Get(t.Context(), result.ID)
				if err != nil || !bytes.Equal(f.bytes(t, result.ID), test.want) || r.DiskFormat != i.DiskFormat() || r.MinDisk != 1 {
					t.Errorf("other bytes, or record %+v (%v)", r, err)
				}
				if r.Properties[PropertyDigest] != digest {
					t.Errorf("the digest %q is recorded, want %q", r.Properties[PropertyDigest], digest)
				}
				if entries, err := os.ReadDir(f.TempDir); err != nil || len(entries) > 0 {
					t.Errorf("temporary files %v are left (%v)", entries, err)
				}
				if again := f.sync(t, i); again.Changed {
					t.Errorf("the second time: %+v", again)
				}
			})
		}
	}
}

// A file without a digest is only read for it when an image there can have its
// bytes.
func TestFilesAreReadOnceWhenNothingCanBeTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	disk := imagetest.Disk(7, 1)
	i := f.node(t, "node", imagetest.Qcow2(disk, imagetest.Options{}))
	i.SHA512 = ""
	read := func() (times int) {
		for _, e := range f.events.Events() {
			if e.Message == "digest known" {
				times++
			}
		}
		return times
	}
	if result := f.sync(t, i); result.Action != Upload || read() != 0 {
		t.Errorf("first %+v, read %d times for its digest", result, read())
	}
	if again := f.sync(t, i); again.Changed || read() != 1 {
		t.Errorf("again %+v, read %d times for its digest", again, read())
	}
	other := imagetest.Qcow2(imagetest.Disk(8, 1), imagetest.Options{})
	i.File = f.file(t, "other", other[:len(other)-1])
	if _, err := f.Sync(t.Context(), list(i)); err == nil || !strings.Contains(err.Error(), "has this name but different content") || read() != 2 {
		t.Errorf("other bytes of the name: %v, read %d times for its digest", err, read())
	}
}

// proves: S-30, F60
func TestBadImagesLeaveNothing(t *testing.T) {
	t.Parallel()
	disk := imagetest.Disk(9, 2)
	good := imagetest.Qcow2(disk, imagetest.Options{})
	damaged := bytes.Clone(good)
	damaged[len(damaged)/2] ^= 1
	cut := good[:len(good)/2]
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(imagetest.Qcow2(disk, imagetest.Options{}))
	for range 80 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	for name, test := range map[string]struct {
		sent, promised []byte
		format         string
		want           string
	}{
		"wrong digest":  {damaged, good, "qcow2", "content differs"},
		"truncated":     {cut, good, "qcow2", "content differs"},
		"page":          {[]byte("<!DOCTYPE html><html>log in</html>"), good, "qcow2", "web page"},
		"empty":         {nil, nil, "qcow2", "empty"},
		"not qcow2":     {disk, disk, "qcow2", "not qcow2"},
		"qcow2 as raw":  {good, good, "raw", "not raw but qcow2"},
		"backing file":  {imagetest.Qcow2(disk, imagetest.Options{BackingFile: "/etc/passwd"}), nil, "qcow2", "backing file"},
		"external data": {imagetest.Qcow2(disk, imagetest.Options{External: true}), nil, "qcow2", "another file"},
		"huge disk":     {imagetest.Qcow2(disk, imagetest.Options{Virtual: 200 << 30}), nil, "qcow2", "larger than allowed"},
		"bomb":          {bomb.Bytes(), nil, "qcow2", "larger than allowed"},
		"cut gzip":      {bomb.Bytes()[:2000], nil, "qcow2", "unexpected EOF"},
	} {
		for _, way := range []string{"upload", "glance-direct", "convert"} {
			t.Run(name+" by "+way, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				promised := test.promised
				if promised == nil {
					promised = test.sent
				}
				i := f.node(t, "node", promised)
				i.URL, i.File, i.Format = web(t, "node.img", test.sent), "", test.format
				switch {
				case way != "convert":
					i.Method = way
				default:
					i.Convert = "raw"
				}
				results, err := f.Sync(t.Context(), list(i))
				if err == nil || !strings.Contains(err.Error(), test.want) || fault.Remedy(err) == "" || len(results) > 0 {
					t.Fatalf("results %+v, error %v, remedy %q", results, err, fault.Remedy(err))
				}
				if left := f.all(t); len(left) > 0 {
					t.Errorf("left %+v", left)
				}
				if entries, err := os.ReadDir(f.TempDir); err != nil || len(entries) > 0 {
					t.Errorf("temporary files %v are left (%v)", entries, err)
				}
			})
		}
	}
}

func TestFullGlance(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultinject.Rule{
		"disk full":  {Kind: faultinject.DiskFull, Service: "image"},
		"many":       {Kind: faultinject.Quota, Service: "image", Resource: "image_count_total"},
		"quota":      {Kind: faultinject.Quota, Service: "image", Resource: "image_size_total"},
		"no answer":  {Kind: faultinject.API, Service: "image", Method: "PUT", Path: "/v2/images/*/file", Drop: true},
		"wrong role": {Kind: faultinject.API, Service: "image", Method: "POST", Path: "/v2/images", Status: 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			added, err := f.sandbox.Faults.Add(rule)
			if err != nil {
				t.Fatal(err)
			}
			i := f.node(t, "node", qcow2(3))
			if _, err := f.Sync(t.Context(), list(i)); err == nil || fault.Remedy(err) == "" {
				t.Errorf("ended with %v, remedy %q", err, fault.Remedy(err))
			}
			if left := f.all(t); len(left) > 0 {
				t.Errorf("left %+v", left)
			}
			if err := f.sandbox.Faults.Remove(added.ID); err != nil {
				t.Fatal(err)
			}
			f.sync(t, i)
		})
	}
}

// proves: F59
func TestNameWithOtherBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := f.other(t, f.sandbox.Member, qcow2(4), images.CreateOpts{Name: "node", DiskFormat: "qcow2"})
	i := f.node(t, "node", qcow2(5))
	_, err := f.Sync(t.Context(), list(i))
	if err == nil || !strings.Contains(err.Error(), "different content") || !strings.Contains(fault.Remedy(err), "--replace") {
		t.Errorf("ended with %v, remedy %q", err, fault.Remedy(err))
	}
	if n := len(f.all(t)); n != 1 {
		t.Errorf("there are %d images", n)
	}
	i.Convert = "raw" // nothing can be said of it: converted bytes have no published digest
	if _, err := f.Sync(t.Context(), list(i)); err == nil {
		t.Error("an image of another format was taken by its name")
	}
	f.Replace = true
	result := f.sync(t, i)
	before, err := f.Glance.Get(t.Context(), old)
	if err != nil || !before.Hidden || before.Name == "node" || result.ID == old {
		t.Errorf("the old one: %+v (%v)", before, err)
	}
	if again := f.sync(t, i); again.Changed {
		t.Errorf("the second time: %+v", again)
	}
}

// An image that cannot be replaced stays what it is.
func TestAnImageKeepsItsPlaceUntilThereIsAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Replace = true
	old := f.sync(t, f.node(t, "node", qcow2(4)))
	i := f.node(t, "node", qcow2(5))
	i.SHA512 = sha512of(qcow2(6)) // of other bytes
	if _, err := f.Sync(t.Context(), list(i)); err == nil {
		t.Error("bytes with another digest were taken")
	}
	left := f.all(t)
	if len(left) != 1 || left[0].ID != old.ID || left[0].Name != "node" || left[0].Hidden || left[0].Properties[PropertyHidden] != "" {
		t.Errorf("left %+v", left)
	}
	i.SHA512 = sha512of(qcow2(5))
	if result := f.sync(t, i); result.ID == old.ID || result.Bytes == 0 {
		t.Errorf("the next time: %+v", result)
	}
}

// proves: F61
func TestSharing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin, err := NewGlance(open(t, f.sandbox, "sandbox-admin"))
	if err != nil {
		t.Fatal(err)
	}
	i := f.node(t, "node", qcow2(6))
	i.Visibility, i.Share = "shared", []manifest.Member{{Project: admin.Project}}
	_, err = f.Sync(t.Context(), list(i))
	if err == nil || !strings.Contains(fault.Remedy(err), "--accept") {
		t.Fatalf("a project accepted for another: %v, remedy %q", err, fault.Remedy(err))
	}
	i.Share[0].Cloud = "sandbox-admin"
	f.MemberLogin = func(ctx context.Context, name string) (*gophercloud.ServiceClient, error) {
		return open(t, f.sandbox, name).Image()
	}
	result := f.sync(t, i)
	members, err := f.members(t.Context(), Record{ID: result.ID})
	if err != nil || members[admin.Project] != accepted || !result.Changed || result.Action != Use {
		t.Errorf("members %v, result %+v (%v)", members, result, err)
	}
	if again := f.sync(t, i); again.Changed {
		t.Errorf("the second time: %+v", again)
	}
	seen, err := admin.List(t.Context(), false, false)
	if err != nil || !slices.ContainsFunc(seen, func(r Record) bool { return r.ID == result.ID }) {
		t.Errorf("the member sees %+v (%v)", seen, err)
	}
}

// A run that was killed leaves a record; the next one goes on with it when
// nobody is heard of it any more.
// proves: S-30
func TestLeftoversAreResumed(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]string{"queued": "qcow2", "of another format": "raw"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.node(t, "node", qcow2(2))
			f.other(t, f.sandbox.Member, nil, images.CreateOpts{Name: "node", DiskFormat: format, Properties: map[string]string{
				PropertyMark: "node", PropertyLease: time.Now().Add(300 * time.Millisecond).UTC().Format(time.RFC3339Nano)}})
			result := f.sync(t, i)
			left := f.all(t)
			if result.Action != Resume || len(left) != 1 || !left[0].Active() || left[0].ID != result.ID {
				t.Errorf("result %+v, images %+v", result, left)
			}
		})
	}
}

// A server that takes a broken upload for a whole one makes an active image of
// it; nobody vouched for its bytes, so that the next run brings them anew.
// proves: S-30
func TestActiveLeftoversAreUploadedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.node(t, "node", qcow2(2))
	for _, convert := range []string{"", "raw"} {
		i.Convert = convert
		half := f.other(t, f.sandbox.Member, qcow2(2)[:70000], images.CreateOpts{Name: "node", DiskFormat: i.DiskFormat(), Properties: map[string]string{
			PropertyMark: "node", PropertyLease: time.Now().Add(-time.Second).UTC().Format(time.RFC3339)}})
		result := f.sync(t, i)
		left := f.all(t)
		if result.Action != Resume || result.ID == half || len(left) != 1 || left[0].Properties[PropertyDigest] != i.Digest() {
			t.Errorf("result %+v, images %+v", result, left)
		}
		if err := f.Glance.delete(t.Context(), left[0]); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := imagetest.Qcow2(imagetest.Disk(2, 64), imagetest.Options{})
	i := f.node(t, "node", data)
	ctx, cancel := context.WithCancelCause(t.Context())
	f.calls.next = &cutter{RoundTripper: f.calls.next, cut: func() { cancel(fault.ErrInterrupted) }}
	_, err := f.Sync(ctx, list(i))
	if !errors.Is(err, fault.ErrInterrupted) {
		t.Errorf("ended with %v", err)
	}
	if left := f.all(t); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
	f.calls.next = f.calls.next.(*cutter).RoundTripper
	f.sync(t, i)
}

// One image that fails does not keep the others.
func TestOthersGoOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bad, good, lost := f.node(t, "bad", qcow2(1)), f.node(t, "good", qcow2(2)), f.node(t, "lost", qcow2(4))
	bad.SHA512 = sha512of(qcow2(3))
	lost.SHA512, lost.File = "", "/nonexistent/lost.qcow2"
	one, other := manifest.Image{Name: "one", Key: "one", Bundle: "one"}, manifest.Image{Name: "other", Key: "other", Bundle: "other"}
	f.Source.Bundle = "/nonexistent"
	results, err := f.Sync(t.Context(), list(bad, lost, one, other, good))
	if len(results) != 1 || results[0].Name != "good" || fault.ExitCode(err) != fault.ExitPartial {
		t.Errorf("results %+v (%v)", results, err)
	}
	if all := fault.All(err); len(all) != 3 { // a bundle that is not there is told of once
		t.Errorf("errors %q", all)
	}
}
