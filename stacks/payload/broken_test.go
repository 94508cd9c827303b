package payload

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// built makes k3s one that the bundle built.
func built(t *testing.T, folder *bundle.Folder) {
	t.Helper()
	k3s := *folder.Bill().Item(k3sItem)
	k3s.Recipe = "abc"
	if err := folder.Record(k3s); err != nil {
		t.Fatal(err)
	}
}

// imageOf is an image with these files.
func imageOf(t *testing.T, entries ...tar.Header) v1.Image {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, entry := range entries {
		if err := w.WriteHeader(&entry); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(entry.Size))); err != nil {
			t.Fatal(err)
		}
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), w.Flush() })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestOnlyABuiltK3sNeedsKubeProxy, which then is part of the payload, by its ID too.
func TestOnlyABuiltK3sNeedsKubeProxy(t *testing.T) {
	t.Parallel()
	folder := filled(t, proxyItem)
	before := of(t, folder).ID()
	for _, f := range of(t, folder).Files() {
		if strings.HasPrefix(f.Path, wrapperFolder) {
			t.Errorf("a k3s that has iptables comes with %s", f.Path)
		}
	}
	built(t, folder)
	if _, err := Of(folder); err == nil || !strings.Contains(err.Error(), "it contains no kube-proxy") || len(fault.All(err)) != 1 {
		t.Errorf("without kube-proxy: %v", err)
	}
	put(t, folder, proxyItem, "first")
	if after := of(t, folder).ID(); after == before {
		t.Error("iptables is not told by the ID")
	}
}

// TestIptablesComesOutOfTheImage: its files alone, with what they lead to, and no folders.
func TestIptablesComesOutOfTheImage(t *testing.T) {
	t.Parallel()
	folder := filled(t)
	built(t, folder)
	const lib = "usr/lib/x86_64-linux-gnu/"
	digest, err := folder.PutImage(t.Context(), imageOf(t, tar.Header{Typeflag: tar.TypeDir, Name: lib + "xtables/", Mode: 0o755}, tar.Header{Typeflag: tar.TypeDir, Name: "usr/sbin/ipset", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeReg, Name: "./usr/sbin/xtables-nft-multi", Mode: 0o6755, Size: 7}, tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644, Size: 3},
		tar.Header{Typeflag: tar.TypeSymlink, Name: lib + "libmnl.so.0", Linkname: "libmnl.so.0.2.0"}))
	item := *folder.Bill().Item(proxyItem)
	item.SHA256, item.Size = digest.SHA256, digest.Size
	if err := errors.Join(err, folder.Record(item)); err != nil {
		t.Fatal(err)
	}
	uploads, err := of(t, folder).Uploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if uploads[0].Path != IptablesArchive {
		t.Fatalf("first comes %s", uploads[0].Path)
	}
	got := map[string]tar.Header{}
	for archive := tar.NewReader(bytes.NewReader(read(t, uploads[0], 0))); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[header.Name] = *header
	}
	program, link := got["usr/sbin/xtables-nft-multi"], got[lib+"libmnl.so.0"]
	if len(got) != 2 || program.Mode != 0o755 || program.Size != 7 || link.Linkname != "libmnl.so.0.2.0" {
		t.Errorf("the archive has %+v", got)
	}
}

// TestABundleThatLostItsFiles is told of before a machine gets half of it.
func TestABundleThatLostItsFiles(t *testing.T) {
	t.Parallel()
	folder := filled(t)
	uploads, err := of(t, folder).Uploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uploads {
		if strings.HasSuffix(u.Path, "/k3s") {
			if r, err := u.From(t.Context(), -1); err == nil || r != nil {
				t.Error("a place before the beginning is read")
			}
			if err := os.Remove(folder.Blob(u.SHA256)); err != nil {
				t.Fatal(err)
			}
			if r, err := u.From(t.Context(), 0); !errors.Is(err, os.ErrNotExist) || r != nil {
				t.Errorf("a program that is gone: %v", err)
			}
		}
	}
	if err := os.RemoveAll(folder.Blob(folder.Bill().Item("coredns").SHA256)); err != nil {
		t.Fatal(err)
	}
	if _, err := of(t, folder).Uploads(t.Context()); err == nil || !strings.Contains(fault.Remedy(err), "slipway bundle verify") {
		t.Errorf("an image that is gone: %v", err)
	}
}
