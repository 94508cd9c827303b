package devstack

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestItemsAreThoseOfTheMode: a cluster of somebody else pulls its images itself, a k3s of the
// plugin's gets them from the bundle, and a container of kind gets what a seed's has.
func TestItemsAreThoseOfTheMode(t *testing.T) {
	t.Parallel()
	external := map[string]string{"SLIPWAY_MODE": "external", "SLIPWAY_KUBECONFIG": "x"}
	kinds := func(s Settings) (all map[bundle.Kind]int) {
		all = map[bundle.Kind]int{}
		for _, name := range s.Items() {
			c, ok := component.Find(name)
			if !ok {
				t.Errorf("%s: there is no component %s", s.Mode, name)
			}
			all[c.Kind]++
		}
		return all
	}
	var manifests, images, charts int
	for _, c := range component.SeedComponents() {
		switch c.Kind {
		case bundle.Manifest:
			manifests++
		case bundle.Image:
			images++
		}
	}
	for _, c := range component.All() {
		if c.Kind == bundle.Chart {
			charts++
		}
	}
	theirs := kinds(read(t, external))
	if theirs[bundle.Manifest] != manifests || theirs[bundle.Chart] != charts || theirs[bundle.Image] != 0 || manifests == 0 || charts == 0 {
		t.Errorf("external: %v; the seed has %d manifests and %d images, and there are %d charts", theirs, manifests, images, charts)
	}
	ours := read(t, nil)
	if got := kinds(ours); got[bundle.Manifest] != manifests || got[bundle.Chart] != charts || got[bundle.Image] != images+2 || images == 0 {
		t.Errorf("k3s: %v", got)
	}
	kind := read(t, map[string]string{"SLIPWAY_MODE": "kind"})
	for _, c := range component.LocalSeedComponents() {
		if !slices.Contains(kind.Items(), c.Name) {
			t.Errorf("kind has no %s", c.Name)
		}
	}
	image := map[string]string{"SLIPWAY_NODE_IMAGE_URL": "https://example.org/x", "SLIPWAY_NODE_IMAGE_SHA256": "0", "SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION": "1.34.4"}
	for name, test := range map[string]struct {
		s    Settings
		want []bool
	}{
		"k3s":      {ours, []bool{true, true, true, true}},
		"external": {read(t, external), []bool{false, false, false, true}},
		"kind":     {kind, []bool{false, false, false, true}},
		"an image": {read(t, image), []bool{true, true, true, false}},
	} {
		for i, item := range []string{"k3s", "coredns", "pause", "node"} {
			if got := slices.Contains(test.s.Items(), item); got != test.want[i] {
				t.Errorf("%s: %s is needed: %t", name, item, got)
			}
		}
	}
}

// k3sBundle makes a bundle of small files and images under the names that a k3s needs.
func k3sBundle(t *testing.T, s Settings) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Create(s.Bundle, "linux/amd64")
	must(t, err)
	for _, name := range s.Items() {
		c, _ := component.Find(name)
		if c.Kind == bundle.Image {
			item, _ := bundletest.PutImage(t, folder, name, "registry.example/"+name)
			must(t, folder.Record(item))
			continue
		}
		digest, err := folder.Put(t.Context(), strings.NewReader(name))
		must(t, err)
		must(t, folder.Record(bundle.Item{Name: name, Kind: c.Kind, Version: "v1.0.0", SHA256: digest.SHA256, Size: digest.Size, Path: "files/" + name, Source: "test", License: "Apache-2.0"}))
	}
	must(t, folder.Close())
	return folder
}

// TestAHostGetsItsK3sOutOfTheBundle: the program, and an archive of exactly the images of the
// seed, which is written again only if they change or it is lost.
func TestAHostGetsItsK3sOutOfTheBundle(t *testing.T) {
	t.Parallel()
	s := read(t, nil)
	folder := k3sBundle(t, s)
	equip := func() os.FileInfo {
		t.Helper()
		must(t, s.Equip(t.Context(), event.Discard{}))
		info, err := os.Stat(s.ImageArchive())
		must(t, err)
		return info
	}
	first := equip()
	program, err := os.ReadFile(s.K3sProgram())
	if info, _ := os.Stat(s.K3sProgram()); err != nil || string(program) != "k3s" || info.Mode() != 0o755 {
		t.Errorf("k3s is %q (%v)", program, err)
	}
	var want int
	for _, name := range s.Items() {
		if folder.Bill().Item(name).Kind == bundle.Image {
			want++
		}
	}
	if got := imagesOf(t, s.ImageArchive()); got != want || first.Mode() != 0o600 {
		t.Errorf("the archive has %d images, of %d, and mode %v", got, want, first.Mode())
	}
	if again := equip(); !os.SameFile(first, again) {
		t.Error("the same images are written again")
	}
	must(t, os.Remove(s.ImageArchive()))
	second := equip()
	must(t, s.Write("images.sha256", "others"))
	if third := equip(); os.SameFile(second, third) {
		t.Error("other images are not written")
	}
}

// imagesOf counts the images of an archive.
func imagesOf(t *testing.T, path string) (count int) {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return count
		}
		must(t, err)
		if header.Name == "index.json" {
			text, err := io.ReadAll(r)
			must(t, err)
			count = strings.Count(string(text), `"org.opencontainers.image.ref.name"`)
		}
	}
}

// TestEquipmentThatCannotBeWritten says which file, and leaves none half written.
func TestEquipmentThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(s Settings, folder *bundle.Folder) error
		want  string
	}{
		"program": {func(s Settings, _ *bundle.Folder) error {
			return os.MkdirAll(filepath.Join(s.K3sProgram(), "x"), 0o700)
		}, "k3s"},
		"archive": {func(s Settings, _ *bundle.Folder) error {
			return os.MkdirAll(filepath.Join(s.ImageArchive(), "x"), 0o700)
		}, "images"},
		"the list": {func(s Settings, _ *bundle.Folder) error {
			return os.MkdirAll(filepath.Join(s.Dir, "images.sha256", "x"), 0o700)
		}, "images.sha256"},
		"folder": {func(s Settings, _ *bundle.Folder) error { return os.WriteFile(s.Dir, nil, 0o600) }, "folder"},
		"bundle": {func(s Settings, f *bundle.Folder) error {
			return os.WriteFile(filepath.Join(s.Bundle, "bundle.yaml"), []byte("{"), 0o600)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := read(t, nil)
			must(t, test.spoil(s, k3sBundle(t, s)))
			if err := s.Equip(t.Context(), event.Discard{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			left, err := filepath.Glob(filepath.Join(s.Dir, "*", ".new-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left %v (%v)", left, err)
			}
			if missing, err := s.Missing(); name == "bundle" && (err == nil || missing != nil || fault.Remedy(err) == "") {
				t.Errorf("a bundle that cannot be read lacks %v (%v)", missing, err)
			}
		})
	}
}
