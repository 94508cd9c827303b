package images

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestSizesOfDisks: as large as allowed is taken, and what an unpacked raw disk has nobody knows yet.
func TestSizesOfDisks(t *testing.T) {
	t.Parallel()
	qcow2 := imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{Virtual: 1 << 30})
	larger := imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{Virtual: 1<<30 + 1})
	boot := imagetest.Disk(1, 1)
	for name, test := range map[string]struct {
		image     manifest.Image
		head      []byte
		packed    bool
		published int64
		virtual   int64
		want      string
	}{
		"qcow2, as large as may be":     {manifest.Image{Format: "qcow2"}, qcow2, false, 99, 1 << 30, ""},
		"qcow2, larger":                 {manifest.Image{Format: "qcow2"}, larger, false, 99, 0, "at most 1073741824 are allowed"},
		"qcow2, larger, and named":      {manifest.Image{Format: "qcow2", MinDisk: 2}, larger, false, 99, 1<<30 + 1, ""},
		"raw":                           {manifest.Image{Format: "raw"}, boot, false, 1 << 20, 1 << 20, ""},
		"raw, of nothing":               {manifest.Image{Format: "raw"}, boot, false, 0, 0, ""},
		"raw, compressed":               {manifest.Image{Format: "raw"}, boot, true, 99, -1, ""},
		"raw, of an unknown size":       {manifest.Image{Format: "raw"}, boot, false, -1, -1, ""},
		"raw, larger than allowed":      {manifest.Image{Format: "raw"}, boot, false, 1<<30 + 1, 0, "at most 1073741824"},
		"a boot sector, said to be raw": {manifest.Image{Format: "qcow2"}, boot, false, 99, 0, "its header has no known format"},
		"a page":                        {manifest.Image{Format: "raw"}, []byte("<html>"), false, 6, 0, "it is not raw but a web page"},
	} {
		s, c := &Syncer{maxDiskGiB: 1}, &content{image: test.image, virtual: -1, packed: test.packed}
		err := s.inspect(c, bufio.NewReaderSize(bytes.NewReader(test.head), disk.HeadSize), test.published)
		if (err == nil) != (test.want == "") || err == nil && c.virtual != test.virtual || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %d, %v; want %d, %q", name, c.virtual, err, test.virtual, test.want)
		}
	}
	s := &Syncer{maxDiskGiB: 1}
	for virtual, want := range map[int64]int64{-1: 1 << 30, 0: 64 << 20, 160: 170 + 64<<20} {
		if got := s.limit(&content{virtual: virtual}); got != want {
			t.Errorf("a disk of %d bytes may unpack to %d, want %d", virtual, got, want)
		}
	}
}

// TestWhatWasReceivedIsCompared: its size if that is known, and each digest that there is.
func TestWhatWasReceivedIsCompared(t *testing.T) {
	t.Parallel()
	sums := disk.NewSums("sha256", "sha512")
	_, _ = sums.Write([]byte("abc"))
	for name, test := range map[string]struct {
		image manifest.Image
		size  int64
		want  string
	}{
		"nothing to compare": {manifest.Image{}, -1, ""}, "its size": {manifest.Image{}, 3, ""}, "another size": {manifest.Image{}, 0, "3 bytes were received, but the source has 0"},
		"its digests": {manifest.Image{SHA256: strings.ToUpper(sums.Hex("sha256")), SHA512: sums.Hex("sha512")}, 3, ""}, "one of two is another": {manifest.Image{SHA256: sums.Hex("sha256"), SHA512: strings.Repeat("a", 128)}, 3, "received sha512 ddaf35a193617abacc41734…, but the manifest has"},
	} {
		if err := compareDigest(test.image, sums, test.size); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for digest, want := range map[string]string{strings.Repeat("a", 23): strings.Repeat("a", 23), strings.Repeat("a", 24): strings.Repeat("a", 23) + "…"} {
		if got := abbreviated(digest); got != want {
			t.Errorf("%s is told as %s", digest, got)
		}
	}
	if got := KubernetesVersion(Record{Properties: map[string]string{"kube_version": "v1.09.29-rc"}}); got != "1.09.29" {
		t.Errorf("version %q", got)
	}
}

// TestFaultsOfSources are told once, and an interrupt is none; a full disk has a fix of its own.
func TestFaultsOfSources(t *testing.T) {
	t.Parallel()
	c := &content{image: manifest.Image{Name: "node", URL: "https://example.org/node?token=secret"}}
	known := fault.New("other", errors.New("why"), "fix")
	for _, err := range []error{known, fmt.Errorf("reading: %w", context.Canceled)} {
		if got := c.fault(err, "another fix"); got != err {
			t.Errorf("%v is told as %v", err, got)
		}
	}
	if err := c.fault(errors.New("cut off"), "fix"); err.Error() != "image node from https://example.org/node: cut off" || fault.Remedy(err) != "fix" {
		t.Errorf("%v", err)
	}
	for err, want := range map[error]string{syscall.ENOSPC: "free space there", syscall.EDQUOT: "free space there", errors.New("cut off"): "check that the file is complete"} {
		if got := spoolRemedy(fmt.Errorf("writing: %w", err)); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q", err, got)
		}
	}
	var closed []int
	for i := range 3 {
		c.closers = append(c.closers, func() error { closed = append(closed, i); return nil })
	}
	if err := c.Close(); err != nil || !slices.Equal(closed, []int{2, 1, 0}) {
		t.Errorf("closed %v, %v", closed, err)
	}
	full := refused(fault.New("image", errors.New("413"), ""), gophercloud.ErrUnexpectedResponseCode{Actual: http.StatusRequestEntityTooLarge})
	if other := refused(known, gophercloud.ErrUnexpectedResponseCode{Actual: http.StatusRequestEntityTooLarge}); !strings.Contains(fault.Remedy(full), "image prune") || fault.Remedy(other) != "fix" {
		t.Errorf("%q, %q", fault.Remedy(full), fault.Remedy(other))
	}
}

// TestWhichOfEqualsIsMeant: the one of the name, then that of the manifest, then one that is shown.
func TestWhichOfEqualsIsMeant(t *testing.T) {
	t.Parallel()
	i := manifest.Image{Name: "node", Key: "k", Format: "qcow2", SHA512: "cd"}
	record := func(id, name, mark string, hidden bool) Record {
		return Record{ID: id, Name: name, Owner: "p", Status: "active", DiskFormat: "qcow2", HashAlgo: "sha512", HashValue: "cd", Hidden: hidden, Properties: map[string]string{PropertyMark: mark}}
	}
	named, marked, shown, none := record("named", "node", "", true), record("marked", "old", "k", true), record("shown", "old", "", false), record("none", "old", "", true)
	for want, list := range map[string][]Record{"named": {none, shown, marked, named}, "marked": {none, shown, marked}, "shown": {none, shown}, "none": {none}} {
		if choice, err := Identify(i, list, "p", nil, false, time.Now()); err != nil || choice.Record == nil || choice.Record.ID != want {
			t.Errorf("%+v, %v; want %s", choice, err, want)
		}
	}
	converted := i
	converted.Convert = "raw"
	r := named
	r.DiskFormat = "raw"
	if got := compare(converted, r, true); got != unknown {
		t.Errorf("the bytes of what was converted are compared with those that were published: %d", got)
	}
	for name, change := range map[string]func(*manifest.Image){"": func(*manifest.Image) {}, "converted": func(i *manifest.Image) { i.Convert = "raw" }, "compressed": func(i *manifest.Image) { i.URL = "https://example.org/a.xz" }, "unknown": func(i *manifest.Image) { i.SHA256 = "" }} {
		with := manifest.Image{SHA256: "ab", Format: "qcow2"}
		change(&with)
		if _, known := wantedProperties(with)[PropertySHA256]; known != (name == "") {
			t.Errorf("%q: the digest of the bytes in Glance is known: %t", name, known)
		}
	}
}

// TestWhatCountsAsKept: only images that stay and are shown, and unfinished ones go whatever else.
func TestWhatCountsAsKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	at := func(id string, day int, change func(*Record)) Record {
		r := Record{ID: id, Name: id, Status: "active", CreatedAt: now.AddDate(0, 0, -day), UpdatedAt: now, Properties: map[string]string{PropertyMark: id, "kube_version": "v1.34.0"}}
		change(&r)
		return r
	}
	list := []Record{at("hidden", 1, func(r *Record) { r.Hidden = true }), at("queued", 2, func(r *Record) { r.Status = "queued" }), at("unverified", 3, func(r *Record) { r.Properties[PropertyLease] = "2026-01-01T00:00:00Z" }),
		at("first", 4, func(*Record) {}), at("second", 5, func(*Record) {}), at("bare", 6, func(r *Record) { delete(r.Properties, "kube_version") }), at("half", 7, func(r *Record) { r.Properties["kube_version"] = "v1" })}
	got := map[string]Step{}
	for _, p := range Retire(list, nil, nil, manifest.Retire{Keep: 1, DeleteAfter: config.Duration(time.Hour)}, now) {
		got[p.Record.ID] = p.Step
	}
	for id, want := range map[string]Step{"hidden": Keep, "queued": Delete, "unverified": Delete, "first": Keep, "second": Hide, "bare": Keep, "half": Hide} {
		if got[id] != want {
			t.Errorf("%s: %s, want %s", id, got[id], want)
		}
	}
}

// TestKeysInFiles are read, and told of where they cannot be; what is no key or signature is none.
func TestKeysInFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &Syncer{}
	signature := filepath.Join(dir, "signature")
	if err := os.WriteFile(signature, []byte("untrusted comment: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ key, from, want string }{
		"no key": {"absent", signature, "reading the public key"}, "no signature": {"signature", filepath.Join(dir, "none"), "the file does not exist"}, "neither is one": {"signature", signature, "reading the public key: it is empty"},
	} {
		_, err := s.newVerifier(t.Context(), manifest.Signature{Method: manifest.Minisign, From: test.from, PublicKeyFile: config.File(filepath.Join(dir, test.key))})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	long := base64.StdEncoding.EncodeToString(make([]byte, 9))
	for text, want := range map[string]bool{"AAAA": true, "untrusted comment: x\n\n AAAA \nmore": true, long: false, "AA!A": false, "": false} {
		if raw, err := payload(text, 3); (err == nil) != want || want && len(raw) != 3 {
			t.Errorf("%q: %v, %v", text, raw, err)
		}
	}
}

// TestMembersWithALoginOfTheirOwn accept with it, and one that was offered the image meanwhile is no
// error.
func TestMembersWithALoginOfTheirOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	offered := http.StatusConflict
	var updates int
	f.calls.next = &answering{f.calls.next, func(r *http.Request) (int, string) {
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/members"):
			return offered, "{}"
		case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/members/"):
			updates++
			return http.StatusOK, `{"status": "accepted"}`
		}
		return 0, ""
	}}
	asked := ""
	f.MemberLogin = func(_ context.Context, name string) (*gophercloud.ServiceClient, error) {
		if asked = name; name == "wrong" {
			return nil, errors.New("no such entry")
		}
		return f.Glance.client, nil
	}
	for name, test := range map[string]struct {
		member  manifest.Member
		offered int
		login   string
		want    string
	}{
		"by itself": {manifest.Member{Project: "p", Cloud: "theirs"}, http.StatusOK, "theirs", ""}, "by us": {manifest.Member{Project: "p"}, http.StatusConflict, "", ""},
		"not offered": {manifest.Member{Project: "p"}, http.StatusForbidden, "", "403"}, "by a login that is none": {manifest.Member{Project: "p", Cloud: "wrong"}, http.StatusOK, "wrong", "no such entry"},
	} {
		asked, updates, offered = "", 0, test.offered
		err := f.shareWith(t.Context(), Record{ID: "1", Name: "node"}, test.member, false)
		if asked != test.login || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || (updates == 1) != (test.want == "") {
			t.Errorf("%s: login %q, %d answers, %v", name, asked, updates, err)
		}
	}
	f.MemberLogin = nil
	if offered = http.StatusOK; f.shareWith(t.Context(), Record{ID: "1"}, manifest.Member{Project: "p", Cloud: "theirs"}, true) != nil {
		t.Error("without logins of others ours does not accept")
	}
	step := event.Start(f.Events, "image", "")
	meters := []*meter{{r: strings.NewReader("abc"), total: -1, step: step, begun: time.Now().Add(-time.Minute), told: time.Now().Add(-time.Minute)}, {r: strings.NewReader("abc")}}
	for _, m := range meters {
		if n, err := m.Read(make([]byte, 8)); n != 3 || err != nil || m.done != 3 {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if meters[0].told.Before(time.Now().Add(-time.Second * 30)) {
		t.Error("progress is not told")
	}
}
