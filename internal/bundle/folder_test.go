package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

const platform = "linux/amd64"

// create opens a new bundle in a folder that the test owns.
func create(t *testing.T, dir string) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Create(dir, platform)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}

// putFile records a manifest item with the given text.
func putFile(t *testing.T, folder *bundle.Folder, name, text string) bundle.Item {
	t.Helper()
	digest, err := folder.Put(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	item := bundle.Item{Name: name, Kind: bundle.Manifest, Version: "v1", License: "Apache-2.0", Source: "test",
		SHA256: digest.SHA256, Size: digest.Size, Path: "manifests/" + name + ".yaml"}
	if err := folder.Record(item); err != nil {
		t.Fatal(err)
	}
	return item
}

func findings(t *testing.T, dir string, names ...string) []bundle.Finding {
	t.Helper()
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, err := folder.Verify(t.Context(), event.Discard{}, names...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestVerifyFindsEachFault(t *testing.T) {
	t.Parallel()
	// proves: F19, S-24
	tests := map[string]struct {
		damage func(t *testing.T, folder *bundle.Folder, file, image bundle.Item)
		want   string
	}{
		"flipped byte": {func(t *testing.T, f *bundle.Folder, file, _ bundle.Item) {
			flip(t, f.Blob(file.SHA256))
		}, "has changed"},
		"missing file": {func(t *testing.T, f *bundle.Folder, file, _ bundle.Item) {
			remove(t, f.Blob(file.SHA256))
		}, "is missing"},
		"shorter file": {func(t *testing.T, f *bundle.Folder, file, _ bundle.Item) {
			if err := os.Truncate(f.Blob(file.SHA256), 3); err != nil {
				t.Fatal(err)
			}
		}, "has 3 bytes"},
		"flipped byte in an image's manifest": {func(t *testing.T, f *bundle.Folder, _, image bundle.Item) {
			flip(t, f.Blob(image.SHA256))
		}, "has changed"},
		"flipped byte in an image's layer": {func(t *testing.T, f *bundle.Folder, _, image bundle.Item) {
			flip(t, f.Blob(layerOf(t, f, image)))
		}, "has changed"},
		"missing layer": {func(t *testing.T, f *bundle.Folder, _, image bundle.Item) {
			remove(t, f.Blob(layerOf(t, f, image)))
		}, "is missing"},
		"named link that leads elsewhere": {func(t *testing.T, f *bundle.Folder, file, image bundle.Item) {
			path := filepath.Join(f.Dir(), file.Path)
			remove(t, path)
			if err := os.Symlink(f.Blob(image.SHA256), path); err != nil {
				t.Fatal(err)
			}
		}, "does not lead to its blob"},
		"image index of another bundle": {func(t *testing.T, f *bundle.Folder, _, _ bundle.Item) {
			if err := os.WriteFile(filepath.Join(f.Dir(), "index.json"), []byte("{}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "does not list the images"},
		"foreign blob": {func(t *testing.T, f *bundle.Folder, _, _ bundle.Item) {
			if err := os.WriteFile(f.Blob(strings.Repeat("0", 64)), []byte("?"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "belongs to no item"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder := create(t, dir)
			file := putFile(t, folder, "file", "kind: Test\n")
			image, _ := bundletest.PutImage(t, folder, "image", "example.com/image")
			if found := findings(t, dir); len(found) != 0 {
				t.Fatalf("a sound bundle has findings: %v", found)
			}
			test.damage(t, folder, file, image)
			found := findings(t, dir)
			if len(found) != 1 {
				t.Fatalf("findings: %v, want one", found)
			}
			if !strings.Contains(found[0].Problem, test.want) || found[0].Remedy == "" {
				t.Errorf("finding %+v, want %q with a remedy", found[0], test.want)
			}
		})
	}
}

func flip(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func layerOf(t *testing.T, folder *bundle.Folder, item bundle.Item) string {
	t.Helper()
	image, err := folder.Image(item)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Layers[0].Digest.Hex
}

func TestUnknownItemsAreRefusedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFile(t, create(t, dir), "file", "text")
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = folder.Verify(t.Context(), event.Discard{}, "no", "file", "neither")
	if got := fault.All(err); len(got) != 2 || fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("errors %v, exit code %d; want two, exit code 2", got, fault.ExitCode(err))
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const item = `
  - {name: a, kind: binary, version: v1, source: x, license: MIT, size: 1, sha256: "%"}`
	digest := strings.Repeat("a", 64)
	tests := map[string]struct {
		bill string
		want []string
	}{
		"a newer API version":   {"apiVersion: slipway.sh/v1beta1\nkind: Bundle\n", []string{"v1beta1"}},
		"another kind":          {"apiVersion: v1\nkind: Pod\n", []string{"not a bundle"}},
		"no YAML":               {"\t:", []string{"not a bill"}},
		"an unknown key":        {"apiVersion: slipway.sh/v1alpha1\nkind: Bundle\nitem: []\n", []string{"item"}},
		"several broken items":  {"apiVersion: slipway.sh/v1alpha1\nkind: Bundle\nitems:" + strings.ReplaceAll(item, "%", "b") + strings.ReplaceAll(item, "%", digest), []string{"is not a digest", "given twice"}},
		"a path that leads out": {"apiVersion: slipway.sh/v1alpha1\nkind: Bundle\nitems:" + strings.Replace(strings.ReplaceAll(item, "%", digest), "}", ", path: ../../etc/passwd}", 1), []string{"outside the bundle"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, bundle.BillFile), []byte(test.bill), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := bundle.Open(dir)
			if fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
				t.Fatalf("error %v with exit code %d and remedy %q", err, fault.ExitCode(err), fault.Remedy(err))
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
	if _, err := bundle.Open(t.TempDir()); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("a folder without a bundle: %v", err)
	}
}

func TestSecondWriterIsRefusedAndToldOfTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := create(t, dir)
	if _, err := bundle.Create(dir, platform); err == nil || !strings.Contains(err.Error(), "since") {
		t.Fatalf("second writer: %v, want the holder and the time", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	create(t, dir)
}

func TestInterruptedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := create(t, dir)
	good := putFile(t, folder, "good", "good")
	ctx, cancel := context.WithCancelCause(t.Context())
	reader := io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) {
		cancel(fault.ErrInterrupted)
		return 1, nil
	}), strings.NewReader("rest"))
	if _, err := folder.Put(ctx, reader); !errors.Is(err, fault.ErrInterrupted) {
		t.Fatalf("error %v, want the interrupt", err)
	}
	entries, err := os.ReadDir(filepath.Dir(folder.Blob("x")))
	if err != nil || len(entries) != 1 || entries[0].Name() != good.SHA256 {
		t.Errorf("blobs %v (%v), want the good one only", entries, err)
	}
	if found := findings(t, dir); len(found) != 0 {
		t.Errorf("findings after the interrupt: %v", found)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestConcurrentWritersOfOneFolderKeepTheBillWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := create(t, dir)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() { putFile(t, folder, string(rune('a'+i)), strings.Repeat("x", i)) })
	}
	group.Wait()
	opened, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(opened.Bill().Items); got != 20 {
		t.Errorf("%d items in the bill, want 20", got)
	}
	if found := findings(t, dir); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
}

func TestCleanRemovesWhatItemsStoodForBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := create(t, dir)
	old := putFile(t, folder, "file", "old")
	bundletest.PutImage(t, folder, "image", "example.com/image")
	putFile(t, folder, "file", "new text")
	freed, err := folder.Clean()
	if err != nil || freed != old.Size {
		t.Errorf("freed %d bytes (%v), want %d", freed, err, old.Size)
	}
	if found := findings(t, dir); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
}

// TestCleanLeavesWhatIsNotTheBundles: links of others that lead nowhere, and a folder such as
// lost+found that only root may read.
func TestCleanLeavesWhatIsNotTheBundles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := create(t, dir)
	item := putFile(t, folder, "good", "good")
	theirs, closed := filepath.Join(dir, "manifests", "theirs"), filepath.Join(dir, "lost+found")
	if err := errors.Join(os.Symlink("nowhere", theirs), os.Mkdir(closed, 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	remove(t, folder.Blob(item.SHA256))
	if _, err := folder.Clean(); err != nil {
		t.Errorf("cleaning: %v", err)
	}
	if _, err := os.Lstat(theirs); err != nil {
		t.Errorf("a link that is not the bundle's: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, item.Path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the link to a blob that is gone is there: %v", err)
	}
}

// TestANameLeadsNowhere: the name of an item is whoever's who made the bundle.
func TestANameLeadsNowhere(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	beside := filepath.Join(parent, "beside")
	if err := os.WriteFile(beside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := create(t, filepath.Join(parent, "bundle"))
	item := putFile(t, folder, "good", "good")
	item.Name, item.Path = "/../../../../beside", "manifests/bad.yaml"
	if err := folder.Record(item); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(beside); err != nil || string(text) != "mine" {
		t.Errorf("a file beside the bundle is %q (%v)", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(folder.Dir(), item.Path)); err != nil || string(text) != "good" {
		t.Errorf("the item is %q (%v)", text, err)
	}
}

// TestASignatureStaysUntilSomethingChanges: a build that finds everything unchanged records the
// same again.
func TestASignatureStaysUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	folder := create(t, t.TempDir())
	item := putFile(t, folder, "file", "text")
	missing := []bundle.Missing{{Name: "other", Reason: "it cannot be built"}}
	if err := folder.SetMissing(missing); err != nil {
		t.Fatal(err)
	}
	text, _, err := folder.BillText()
	if err != nil {
		t.Fatal(err)
	}
	signed := append([]byte("# Of another release.\n"), text...) // the bytes are signed, not what they say
	if err := errors.Join(os.WriteFile(filepath.Join(folder.Dir(), bundle.BillFile), signed, 0o644), folder.SetSignature([]byte("signature")),
		folder.Record(item), folder.SetMissing(missing)); err != nil {
		t.Fatal(err)
	}
	if text, signature, err := folder.BillText(); err != nil || string(signature) != "signature" || !bytes.Equal(text, signed) {
		t.Errorf("nothing changed, and the signature is %q of\n%s%v", signature, text, err)
	}
	if err := folder.SetMissing(nil); err != nil {
		t.Fatal(err)
	}
	if _, signature, err := folder.BillText(); err != nil || signature != nil {
		t.Errorf("the bill changed, and the signature is %q (%v)", signature, err)
	}
}

func TestRemoveDamagedMakesAnItemIncomplete(t *testing.T) {
	t.Parallel()
	folder := create(t, t.TempDir())
	image, _ := bundletest.PutImage(t, folder, "image", "example.com/image")
	flip(t, folder.Blob(layerOf(t, folder, image)))
	if !folder.Complete(image) {
		t.Fatal("sizes did not change: the item should look complete")
	}
	if err := folder.RemoveDamaged(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	if folder.Complete(image) {
		t.Error("the damaged layer is still there")
	}
}

func TestFolderIsAnOCILayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := create(t, dir)
	item, want := bundletest.PutImage(t, folder, "image", "example.com/image")
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("index %+v (%v), want one image", manifest, err)
	}
	if got := manifest.Manifests[0].Annotations["io.containerd.image.name"]; got != item.Ref {
		t.Errorf("containerd would name the image %q, want %q", got, item.Ref)
	}
	digest, err := want.Digest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := path.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Errorf("the stored image is not valid: %v", err)
	}
}

func TestImagesAreALayoutWithSharedLayersOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := create(t, dir)
	first, image := bundletest.PutImage(t, folder, "first", "example.com/first")
	second := first
	second.Name, second.Ref = "second", "example.com/second:v1"
	if err := folder.Record(second); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := folder.WriteImageArchive(t.Context(), &archive, []bundle.Item{first, second}); err != nil {
		t.Fatal(err)
	}
	unpacked := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "tar", "-x", "-C", unpacked)
	cmd.Stdin = &archive
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	direct := filepath.Join(t.TempDir(), "layout")
	if err := folder.WriteImageLayout(t.Context(), direct, []bundle.Item{first, second}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{unpacked, direct} {
		expectLayout(t, dir, image)
	}
}

// expectLayout wants a layout with one image, by two names.
func expectLayout(t *testing.T, dir string, image v1.Image) {
	t.Helper()
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := image.Digest()
	got, err := path.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(got); err != nil {
		t.Error(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if all, err := index.IndexManifest(); err != nil || len(all.Manifests) != 2 || all.Manifests[1].Annotations["io.containerd.image.name"] != "example.com/second:v1" {
		t.Errorf("the index is %+v (%v), want both names", all, err)
	}
	blobs, err := os.ReadDir(filepath.Join(dir, "blobs/sha256"))
	if err != nil || len(blobs) != 4 {
		t.Errorf("%d blobs (%v), want manifest, configuration and two layers", len(blobs), err)
	}
}

// TestFullDisk runs itself again in a mount namespace with a tiny file system,
// so that the error is the kernel's own.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("SLIPWAY_TEST_FULL_DISK"); dir != "" {
		fillDisk(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_FULL_DISK="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	folder := create(t, dir)
	putFile(t, folder, "good", "good")
	_, err := folder.Put(t.Context(), bytes.NewReader(make([]byte, 1<<20)))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(fault.Remedy(err), "free space") {
		t.Errorf("error %v with remedy %q", err, fault.Remedy(err))
	}
	if found := findings(t, dir); len(found) != 0 {
		t.Errorf("what was good is not any more: %v", found)
	}
}
