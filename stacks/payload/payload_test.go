package payload

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// filled is a bundle with small items in place of those of the payload, but for some.
func filled(t *testing.T, without ...string) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	parts, err := source.SeedPayload()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(parts.Items(), proxyItem) {
		if !slices.Contains(without, name) {
			put(t, folder, name, "first")
		}
	}
	return folder
}

// put records an item: a program's text, or an image.
func put(t *testing.T, folder *bundle.Folder, name, text string) {
	t.Helper()
	item := bundle.Item{Name: name, Kind: bundle.Binary, Version: "v1", Source: "test", License: "Apache-2.0"}
	var digest bundle.Digest
	var err error
	if slices.Contains([]string{"k3s", "helm", "k9s", "kustomize"}, name) {
		digest, err = folder.Put(t.Context(), strings.NewReader(name+" "+text))
	} else {
		image, failed := random.Image(2000, 2)
		if failed != nil {
			t.Fatal(failed)
		}
		item.Kind, item.Ref = bundle.Image, "registry.example.org/"+name+":v1"
		digest, err = folder.PutImage(t.Context(), image)
	}
	item.SHA256, item.Size = digest.SHA256, digest.Size
	if err := errors.Join(err, folder.Record(item)); err != nil {
		t.Fatal(err)
	}
}

func of(t *testing.T, folder *bundle.Folder) Payload {
	t.Helper()
	p, err := Of(folder)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A machine of another's image gets all that the bundle's image has, where it has it.
func TestThePlanIsWhatTheImageContains(t *testing.T) {
	t.Parallel()
	p := of(t, filled(t))
	uploads, err := p.Uploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, u := range uploads {
		paths = append(paths, u.Path+" "+u.Mode)
	}
	want := []string{"/usr/libexec/slipway/helm 0755", "/usr/libexec/slipway/k9s 0755", "/usr/local/bin/k3s 0755", "/usr/local/bin/kustomize 0755",
		"/usr/share/slipway/images/controllers.tar 0644", "/usr/share/slipway/images/management.tar 0644"}
	if !slices.Equal(paths, want) {
		t.Errorf("it brings %q", paths)
	}
	files := map[string]seed.File{}
	for _, f := range p.Files() {
		files[f.Path] = f
	}
	for path, has := range map[string]string{
		seed.BroughtMark: "", "/etc/systemd/system/k3s.service": "ExecStart=/usr/local/bin/k3s server", "/usr/share/slipway/k3s.conf": "/usr/share/slipway/images/management.tar",
		"/etc/modules-load.d/slipway.conf": "br_netfilter", "/usr/libexec/slipway/shadow-settings": "shadow vm/overcommit_memory", "/etc/systemd/system/slipway-container.service": "",
	} {
		if f, ok := files[path]; !ok || !strings.Contains(f.Content, has) {
			t.Errorf("no %s with %q", path, has)
		}
	}
	if f := files["/etc/rancher/k3s/config.yaml.d/00-bundle.yaml"]; strings.Contains(f.Content, "@") || !strings.Contains(f.Content, "pause") {
		t.Errorf("the images of k3s' configuration are not filled in:\n%s", f.Content)
	}
	if script, text := files["/usr/local/bin/helm"], files["/etc/systemd/system/k3s.service"]; script.Mode != "0755" || text.Mode != "0644" {
		t.Errorf("modes %s and %s", script.Mode, text.Mode)
	}
	for path := range files {
		if strings.HasPrefix(path, "/boot") || strings.HasPrefix(path, "/etc/cloud") {
			t.Errorf("%s belongs to the operating system", path)
		}
	}
}

// Each upload is what it says, from each offset on, each time: else what was interrupted
// could not go on.
func TestUploadsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	uploads, err := of(t, filled(t)).Uploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uploads {
		whole := read(t, u, 0)
		if int64(len(whole)) != u.Size || fmt.Sprintf("%x", sha256.Sum256(whole)) != u.SHA256 {
			t.Errorf("%s: %d bytes, not %d with the digest", u.Path, len(whole), u.Size)
		}
		for _, offset := range []int64{0, 1, u.Size / 2, u.Size - 1, u.Size} {
			if rest := read(t, u, offset); !bytes.Equal(rest, whole[offset:]) {
				t.Errorf("%s from %d: %d bytes, not %d", u.Path, offset, len(rest), u.Size-offset)
			}
		}
	}
}

func read(t *testing.T, u remote.Upload, offset int64) []byte {
	t.Helper()
	r, err := u.From(t.Context(), offset)
	if err != nil {
		t.Fatalf("%s from %d: %v", u.Path, offset, err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The archive names every image as pods do.
func TestTheArchiveHasTheImages(t *testing.T) {
	t.Parallel()
	uploads, err := of(t, filled(t)).Uploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(bytes.NewReader(read(t, uploads[len(uploads)-1], 0)))
	for {
		header, err := archive.Next()
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != "index.json" {
			continue
		}
		var index struct {
			Manifests []struct{ Annotations map[string]string }
		}
		if err := json.NewDecoder(archive).Decode(&index); err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, m := range index.Manifests {
			names[m.Annotations["io.containerd.image.name"]] = true
		}
		if len(names) < 11 || !names["registry.example.org/coredns:v1"] || !names["registry.example.org/capi-openstack-controller:v1"] {
			t.Errorf("the images are %v", names)
		}
		return
	}
}

// A newer bundle is another payload, the same one is not.
func TestTheIDChangesWithTheBundle(t *testing.T) {
	t.Parallel()
	folder := filled(t)
	first := of(t, folder).ID()
	if again := of(t, folder).ID(); again != first {
		t.Errorf("the same bundle is %s and %s", first, again)
	}
	for _, name := range []string{"k3s", "coredns", "slipway"} {
		before := of(t, folder).ID()
		put(t, folder, name, "second")
		if of(t, folder).ID() == before {
			t.Errorf("another %s is the same payload", name)
		}
	}
	put(t, folder, "node", "second")
	if before := of(t, folder).ID(); before == first {
		t.Error("the ID does not change")
	}
}

// What nothing needs may be absent, as in a bundle that was pulled.
func TestWhatABundleLacks(t *testing.T) {
	t.Parallel()
	p, err := Of(filled(t, "helm", "k9s", "kustomize"))
	if err != nil || len(p.parts.Programs) != 1 {
		t.Errorf("without tools: %v, %v", p.parts.Programs, err)
	}
	_, err = Of(filled(t, "k3s", "coredns"))
	if all := fault.All(err); len(all) != 2 || !strings.Contains(err.Error(), "no coredns") || !strings.Contains(fault.Remedy(all[0]), "bundle ensure") {
		t.Errorf("without k3s and coredns: %v", err)
	}
	if _, err := Of(nil); err == nil || fault.Remedy(err) == "" {
		t.Errorf("without a bundle: %v", err)
	}
}

// Only the k3s that its project publishes carries iptables. With another it comes out of
// the image of kube-proxy, and nothing but it.
func TestWhoBringsIptables(t *testing.T) {
	t.Parallel()
	folder := filled(t)
	if of(t, folder).BringsIptables() {
		t.Error("a k3s that was pulled comes with the bundle's iptables")
	}
	built := *folder.Bill().Item("k3s")
	built.Recipe = "abc"
	if err := folder.Record(built); err != nil {
		t.Fatal(err)
	}
	p := of(t, folder)
	if _, err := p.Uploads(t.Context()); err == nil || !strings.Contains(err.Error(), "kube-proxy has no iptables") {
		t.Errorf("of an image without it: %v", err)
	}
	files := map[string]bool{}
	for _, f := range p.Files() {
		files[f.Path] = true
	}
	if !files["/usr/libexec/slipway/sbin/ip6tables-restore"] || !files["/etc/systemd/system/k3s.service.d/iptables.conf"] {
		t.Errorf("the files are %v", files)
	}
}

func TestWhatBelongsToIptables(t *testing.T) {
	t.Parallel()
	for name, belongs := range map[string]bool{
		"usr/sbin/xtables-nft-multi": true, "usr/sbin/ipset": true, "usr/lib/x86_64-linux-gnu/xtables/libxt_comment.so": true, "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": true,
		"usr/lib/aarch64-linux-gnu/libmnl.so.0.2.0": true, "lib/x86_64-linux-gnu/libc.so.6": true, "usr/lib/x86_64-linux-gnu/libc.so.6": true,
		"usr/sbin/xtables-legacy-multi": false, "usr/local/bin/kube-proxy": false, "usr/lib/x86_64-linux-gnu/libgmp.so.10": false, "usr/lib/libc.so.6": false,
		"etc/x86_64-linux-gnu/libc.so.6": false, "usr/lib/x86_64-linux-gnu/other/libc.so.6": false,
	} {
		if got := ofIptables(name); got != belongs {
			t.Errorf("%s: %t", name, got)
		}
	}
}
