package artifact_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

func create(t *testing.T, dir, platform string) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Create(dir, platform)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}

// saved is the archive of a signed bundle, and the key.
func saved(t *testing.T) (folder *bundle.Folder, archive []byte, trust artifact.Trust) {
	t.Helper()
	folder = create(t, t.TempDir(), "linux/amd64")
	bundletest.PutFile(t, folder, "k3s", bytes.Repeat([]byte("k3s "), 100_000))
	bundletest.PutImage(t, folder, "csi", "registry.k8s.io/csi")
	trust, err := artifact.NewTrust([]string{bundletest.Sign(t, folder)}, false)
	if err != nil {
		t.Fatal(err)
	}
	return folder, save(t, folder), trust
}

func save(t *testing.T, folder *bundle.Folder) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := artifact.Save(t.Context(), folder, &b, event.Discard{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load(t *testing.T, folder *bundle.Folder, archive []byte, trust artifact.Trust) error {
	t.Helper()
	_, err := artifact.Load(t.Context(), folder, "bundle.tar", bytes.NewReader(archive), int64(len(archive)), trust, event.Discard{})
	return err
}

// TestAnArchiveIsTheBundle byte for byte, also when it is saved again from there.
func TestAnArchiveIsTheBundle(t *testing.T) {
	t.Parallel()
	from, archive, trust := saved(t)
	to := create(t, t.TempDir(), "linux/amd64")
	if err := load(t, to, archive, trust); err != nil {
		t.Fatal(err)
	}
	findings, err := to.Verify(t.Context(), event.Discard{})
	if err != nil || len(findings) > 0 || len(to.Bill().Items) != len(from.Bill().Items) {
		t.Errorf("%v %v", findings, err)
	}
	if !bytes.Equal(save(t, to), archive) {
		t.Error("the loaded bundle gives another archive")
	}
	if content, err := os.ReadFile(filepath.Join(to.Dir(), "bin/k3s")); err != nil || len(content) != 400_000 {
		t.Errorf("the program: %v", err)
	}
}

// entry is one of an archive.
type entry struct {
	name    string
	content []byte
}

func entries(t *testing.T, archive []byte) (all []entry) {
	t.Helper()
	tr := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{header.Name, content})
	}
}

func pack(t *testing.T, all []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, one := range all {
		if err := tw.WriteHeader(&tar.Header{Name: one.name, Mode: 0o644, Size: int64(len(one.content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(one.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchivesThatAreRefused leave the bundle that was there as it was.
func TestArchivesThatAreRefused(t *testing.T) {
	t.Parallel()
	blob := func(all []entry) int {
		return slices.IndexFunc(all, func(e entry) bool { return len(e.content) == 400_000 })
	}
	for name, c := range map[string]struct {
		change func(*testing.T, []byte) []byte
		want   []string
	}{
		"truncated in a blob":    {func(_ *testing.T, a []byte) []byte { return a[:len(a)/2] }, []string{"ends too early", "copy it again"}},
		"truncated in the bill":  {func(_ *testing.T, a []byte) []byte { return a[:700] }, []string{"ends too early"}},
		"without the last blobs": {func(t *testing.T, a []byte) []byte { all := entries(t, a); return pack(t, all[:len(all)-1]) }, []string{"1 of 5 blobs are missing"}},
		"a forged blob": {func(t *testing.T, a []byte) []byte {
			all := entries(t, a)
			all[blob(all)].content[9] ^= 1
			return pack(t, all)
		}, []string{"has changed: its content is", "do not use it"}},
		"a blob of another size": {func(t *testing.T, a []byte) []byte {
			all := entries(t, a)
			all[blob(all)].content = []byte("short")
			return pack(t, all)
		}, []string{"not the bill's"}},
		"a file outside": {func(t *testing.T, a []byte) []byte {
			return pack(t, append(entries(t, a), entry{"../../etc/passwd", []byte("root")}))
		}, []string{`"../../etc/passwd" is in no item`}},
		"a changed bill": {func(t *testing.T, a []byte) []byte {
			all := entries(t, a)
			all[0].content = append(all[0].content, '\n')
			return pack(t, all)
		}, []string{"not what was signed"}},
		"no signature":   {func(t *testing.T, a []byte) []byte { all := entries(t, a); return pack(t, slices.Delete(all, 1, 2)) }, []string{"not signed"}},
		"something else": {func(t *testing.T, a []byte) []byte { return bytes.Repeat([]byte("PK\x03\x04 a zip"), 100) }, []string{"no archive of a bundle"}},
		"an empty file":  {func(t *testing.T, a []byte) []byte { return nil }, []string{"no archive of a bundle"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, archive, trust := saved(t)
			to := create(t, t.TempDir(), "linux/amd64")
			bundletest.PutFile(t, to, "before", []byte("before"))
			err := load(t, to, c.change(t, bytes.Clone(archive)), trust)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error()+" | "+fault.Remedy(err), want) {
					t.Errorf("error %v has no %q", err, want)
				}
			}
			if to.Bill().Item("before") == nil || to.Bill().Item("k3s") != nil {
				t.Error("the bundle that was there has changed")
			}
			if err := load(t, to, archive, trust); err != nil {
				t.Errorf("the good archive afterwards: %v", err)
			}
		})
	}
}

// TestWhoIsTrusted covers keys that are not the signer's.
func TestWhoIsTrusted(t *testing.T) {
	t.Parallel()
	_, archive, _ := saved(t)
	other, _ := bundletest.Key(t)
	strange, err := artifact.NewTrust([]string{other}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := load(t, create(t, t.TempDir(), "linux/amd64"), archive, strange); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("another key: %v", err)
	}
	anyone, err := artifact.NewTrust(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := load(t, create(t, t.TempDir(), "linux/amd64"), archive, anyone); err != nil {
		t.Errorf("unsigned accepted: %v", err)
	}
	if err := load(t, create(t, t.TempDir(), "linux/arm64"), archive, anyone); err == nil || !strings.Contains(err.Error(), "for linux/amd64, not linux/arm64") {
		t.Errorf("another architecture: %v", err)
	}
	for _, c := range []struct {
		keys     []string
		unsigned bool
		want     string
	}{{nil, false, "no key is given"}, {[]string{other}, true, "both are given"}, {[]string{"/none/key"}, false, "no such file"}, {[]string{"RWnonsense"}, false, "no public key"}} {
		if _, err := artifact.NewTrust(c.keys, c.unsigned); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.keys, err)
		}
	}
}

// TestAFullDiskIsTold when an archive does not fit.
func TestAFullDiskIsTold(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system takes root")
	}
	_, archive, trust := saved(t)
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("mounting a small file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	err := load(t, create(t, dir, "linux/amd64"), archive, trust)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(fault.Remedy(err), "free space") {
		t.Errorf("%v, %s", err, fault.Remedy(err))
	}
}

// TestAChangeTakesTheSignatureAway, so that none stands beside another bill.
func TestAChangeTakesTheSignatureAway(t *testing.T) {
	t.Parallel()
	folder, _, _ := saved(t)
	bundletest.PutFile(t, folder, "later", []byte("later"))
	if _, signature, err := folder.BillText(); err != nil || signature != nil {
		t.Errorf("signature %q, %v", signature, err)
	}
}
