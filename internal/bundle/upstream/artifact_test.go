package upstream_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/bundle/registry"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// published is a signed bundle of a program and an image, in a registry.
type published struct {
	folder *bundle.Folder
	ref    name.Reference
	key    string
	big    bundle.Item
}

func publish(t *testing.T, h *hub) published {
	t.Helper()
	p := published{folder: newFolder(t)}
	p.big = bundletest.PutFile(t, p.folder, "k3s", noise(7, 300_000))
	bundletest.PutImage(t, p.folder, "csi", "registry.k8s.io/csi")
	p.key = bundletest.Sign(t, p.folder)
	p.ref = push(t, h, p.folder, "v1")
	return p
}

func push(t *testing.T, h *hub, folder *bundle.Folder, tag string) name.Reference {
	t.Helper()
	ref, err := artifact.Reference("oci://" + h.host() + "/slipway/bundle:" + tag)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.Push(t.Context(), folder, ref, artifact.PushOptions{Transport: h.Client().Transport}); err != nil {
		t.Fatal(err)
	}
	return ref
}

func (p published) artifact(t *testing.T) upstream.Artifact {
	t.Helper()
	trust, err := artifact.NewTrust([]string{p.key}, false)
	if err != nil {
		t.Fatal(err)
	}
	return upstream.Artifact{Reference: p.ref, Trust: trust}
}

func blobsOf(paths []string) int {
	return len(slices.DeleteFunc(paths, func(p string) bool { return !strings.Contains(p, "/blobs/") }))
}

// checkSame compares the bills byte for byte and verifies all blobs.
func checkSame(t *testing.T, got, want *bundle.Folder) {
	t.Helper()
	a, signA, err1 := got.BillText()
	b, signB, err2 := want.BillText()
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) || !bytes.Equal(signA, signB) {
		t.Errorf("the bills differ: %v %v", err1, err2)
	}
	findings, err := got.Verify(t.Context(), event.Discard{})
	if err != nil || len(findings) > 0 {
		t.Errorf("%v %v", findings, err)
	}
}

// TestABundleGoesThroughARegistry whole, and the second pull fetches the bill only.
func TestABundleGoesThroughARegistry(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := publish(t, h)
	folder := newFolder(t)
	cost, err := upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options())
	if err != nil {
		t.Fatal(err)
	}
	checkSame(t, folder, p.folder)
	if info, err := os.Stat(filepath.Join(folder.Dir(), "bin/k3s")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program: %v %v", info, err)
	}
	if cost.Blobs != 5 || cost.Items != 2 { // the program; the image's manifest, configuration and two layers
		t.Errorf("%+v", cost)
	}
	h.fetched()
	again, err := upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options())
	if got := blobsOf(h.fetched()); err != nil || again.Blobs != 0 || got != 2 { // bill and signature
		t.Errorf("the second pull fetched %d blobs: %+v, %v", got, again, err)
	}
	checkSame(t, folder, p.folder)
}

// TestANewBundleCostsWhatIsNew in the same folder, and beside the old one.
func TestANewBundleCostsWhatIsNew(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := publish(t, h)
	old := newFolder(t)
	if _, err := upstream.PullArtifact(t.Context(), old, p.artifact(t), h.options()); err != nil {
		t.Fatal(err)
	}
	bundletest.PutFile(t, p.folder, "helm", noise(8, 9_000))
	p.key = bundletest.Sign(t, p.folder)
	h.fetched()
	p.ref = push(t, h, p.folder, "v2")
	beside := newFolder(t)
	a := p.artifact(t)
	a.Reuse = []*bundle.Folder{old}
	cost, err := upstream.PullArtifact(t.Context(), beside, a, h.options())
	if err != nil || cost.Blobs != 1 || cost.Bytes != 9_000 || cost.Reused != 5 {
		t.Errorf("beside the old one: %+v, %v", cost, err)
	}
	checkSame(t, beside, p.folder)
	if cost, err = upstream.PullArtifact(t.Context(), old, p.artifact(t), h.options()); err != nil || cost.Blobs != 1 {
		t.Errorf("in the same folder: %+v, %v", cost, err)
	}
	checkSame(t, old, p.folder)
}

// TestWhatIsGoneIsRemoved when a folder becomes a bundle with fewer items.
func TestWhatIsGoneIsRemoved(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := publish(t, h)
	folder := newFolder(t)
	extra := bundletest.PutFile(t, folder, "extra", noise(9, 5_000))
	if _, err := upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options()); err != nil {
		t.Fatal(err)
	}
	checkSame(t, folder, p.folder)
	for _, path := range []string{folder.Blob(extra.SHA256), filepath.Join(folder.Dir(), "bin/extra")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

// cut makes the first answer for a blob end in its middle.
func cut(h *hub, item bundle.Item, content []byte, then func()) {
	var times atomic.Int32
	h.before = func(path string, w http.ResponseWriter, _ http.Handler, r *http.Request) bool {
		if !strings.HasSuffix(path, item.SHA256) || r.Method != http.MethodGet || times.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:len(content)/2])
		w.(http.Flusher).Flush()
		if then != nil {
			then()
		}
		panic(http.ErrAbortHandler)
	}
}

// TestACutArtifactGoesOn in the middle of a blob: within a run, and in the next
// run after this one was ended.
func TestACutArtifactGoesOn(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprintf("ended %v", ended), func(t *testing.T) {
			t.Parallel()
			p := published{folder: newFolder(t)}
			content := noise(7, 3_000_000)
			p.big = bundletest.PutFile(t, p.folder, "k3s", content)
			p.key = bundletest.Sign(t, p.folder)
			served, err := registry.New(p.folder)
			if err != nil {
				t.Fatal(err)
			}
			h := newHubOf(t, served)
			if p.ref, err = artifact.Reference("oci://" + h.host() + "/" + registry.BundleRepository + ":" + registry.LatestTag); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			folder := newFolder(t)
			var then func()
			if ended {
				then = func() {
					waitFor(filepath.Join(folder.Dir(), bundle.WorkDir, "partial", p.big.SHA256), 1_000_000)
					cancel(fault.ErrInterrupted)
				}
			}
			cut(h, p.big, content, then)
			_, err = upstream.PullArtifact(ctx, folder, p.artifact(t), h.options())
			if ended {
				if err == nil || len(partialFiles(t, folder)) == 0 || folder.Bill().Item("k3s") != nil {
					t.Fatalf("after the end: %v, partial %v", err, partialFiles(t, folder))
				}
				_, err = upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options())
			}
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, folder, p.folder)
			if from := h.lastRange(); !strings.HasPrefix(from, "bytes=1") {
				t.Errorf("it went on at %q", from)
			}
		})
	}
}

// waitFor waits until a file has some bytes, or for 30 seconds.
func waitFor(path string, size int64) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() >= size {
			return
		}
	}
}

// TestWhatWasNotSignedIsRefused, and nothing of it is kept.
func TestWhatWasNotSignedIsRefused(t *testing.T) {
	t.Parallel()
	forge := func(h *hub, sha string, content []byte) {
		h.before = func(path string, w http.ResponseWriter, _ http.Handler, r *http.Request) bool {
			if !strings.HasSuffix(path, sha) {
				return false
			}
			_, _ = w.Write(content)
			return true
		}
	}
	for name, c := range map[string]struct {
		prepare func(*testing.T, *hub, *published)
		want    []string
	}{
		"a forged blob": {func(_ *testing.T, h *hub, p *published) { forge(h, p.big.SHA256, noise(1, 300_000)) },
			[]string{"expected sha256:", "does not have what was signed"}},
		"another key": {func(t *testing.T, _ *hub, p *published) { p.key, _ = bundletest.Key(t) },
			[]string{"signed with another key", "do not use this bundle"}},
		"no signature": {func(t *testing.T, h *hub, p *published) {
			bundletest.PutFile(t, p.folder, "later", []byte("later")) // takes the signature away
			p.ref = push(t, h, p.folder, "v2")
		}, []string{"not signed", "--unsigned"}},
		"a bill that was changed after": {func(t *testing.T, h *hub, p *published) {
			_, signature, err := p.folder.BillText()
			if err != nil {
				t.Fatal(err)
			}
			bundletest.PutFile(t, p.folder, "later", []byte("later"))
			if err := p.folder.SetSignature(signature); err != nil {
				t.Fatal(err)
			}
			p.ref = push(t, h, p.folder, "v2")
		}, []string{"not what was signed", "do not use this bundle"}},
		"no such tag": {func(t *testing.T, h *hub, p *published) {
			p.ref, _ = artifact.Reference("oci://" + h.host() + "/slipway/bundle:none")
		}, []string{"404", "check the registry"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			p := publish(t, h)
			c.prepare(t, h, &p)
			folder := newFolder(t)
			_, err := upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options())
			wantFault(t, err, fault.ExitFailure, c.want...)
			if len(folder.Bill().Items) > 0 || folder.Has(bundle.Digest{SHA256: p.big.SHA256, Size: p.big.Size}) {
				t.Error("the folder has items of it")
			}
		})
	}
}

// TestAnotherArchitectureIsRefused before its blobs are fetched.
func TestAnotherArchitectureIsRefused(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := publish(t, h)
	folder, err := bundle.Create(t.TempDir(), "linux/arm64")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	h.fetched()
	_, err = upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options())
	wantFault(t, err, fault.ExitUsage, "for linux/amd64, not linux/arm64", "--platform")
	if n := blobsOf(h.fetched()); n != 2 {
		t.Errorf("%d blobs were fetched", n)
	}
}

// TestAFullDiskIsTold, and the pull goes on when there is room.
func TestAFullDiskIsTold(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system takes root")
	}
	h := newHub(t)
	p := publish(t, h)
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("mounting a small file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	folder := openFolder(t, dir)
	_, err := upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options())
	wantFault(t, err, fault.ExitFailure, "no space left", "free space")
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, "size=4m"); err != nil {
		t.Fatal(err)
	}
	if _, err := upstream.PullArtifact(t.Context(), folder, p.artifact(t), h.options()); err != nil {
		t.Fatal(err)
	}
	checkSame(t, folder, p.folder)
}

// newHubOf is a hub before another registry than the one of tests.
func newHubOf(t *testing.T, next http.Handler) *hub {
	t.Helper()
	h := &hub{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if asked := r.Header.Get("Range"); asked != "" {
			h.ranges = append(h.ranges, asked)
		}
		h.mu.Unlock()
		if h.before == nil || !h.before(r.URL.Path, w, next, r) {
			next.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// lastRange is the last part of a blob that was asked for.
func (h *hub) lastRange() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ranges) == 0 {
		return ""
	}
	return h.ranges[len(h.ranges)-1]
}
