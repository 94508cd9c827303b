package source

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/slipway-sh/slipway/internal/event"
)

// newJob is a job outside of a build, whose inputs are the given texts.
func newJob(t *testing.T, name string, inputs map[string]string) *job {
	t.Helper()
	j := &job{builder: &builder{recipes: recipes()}, name: name, dir: t.TempDir(), inputs: map[string]product{}, step: event.Start(event.Discard{}, name, "")}
	for need, text := range inputs {
		file := filepath.Join(t.TempDir(), need)
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		j.inputs[need] = product{file: file}
	}
	return j
}

func TestImagesAreReproducibleAndCompleteInThemselves(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{"coredns-program": strings.Repeat("program", 1000), baseStatic: string(tree(t, map[string]string{"etc/passwd": "root"}))}
	recipe := staticImage("coredns-program", "/coredns", nonRoot+":"+nonRoot)
	image := func() v1.Image {
		out, err := recipe.make(t.Context(), newJob(t, "coredns", inputs))
		if err != nil {
			t.Fatal(err)
		}
		return out.image
	}
	first, second := image(), image()
	a, errA := first.Digest()
	b, errB := second.Digest()
	if errA != nil || errB != nil || a != b {
		t.Errorf("digests %s and %s (%v, %v) of the same inputs", a, b, errA, errB)
	}
	config, err := first.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/coredns" || config.Architecture == "" || config.OS != "linux" {
		t.Errorf("configuration %+v", config)
	}
	layers, err := first.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers (%v), want base and program", len(layers), err)
	}
	content, err := layers[1].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	reader := tar.NewReader(content)
	header, err := reader.Next()
	if err != nil || header.Name != "coredns" || header.Mode != 0o755 {
		t.Errorf("first entry %+v (%v)", header, err)
	}
}

// tree is a tar archive of files.
func tree(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, text := range files {
		if err := writeText(w, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func entries(t *testing.T, file string) map[string]string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	found := map[string]string{}
	reader := tar.NewReader(in)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		found[header.Name] = string(text) + header.Linkname
	}
}

func TestTrimKeepsWhatMachinesReadAndListsPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.tar"), filepath.Join(dir, "to.tar")
	archive := tree(t, map[string]string{
		"./usr/bin/ls":                    "ls",
		"./usr/share/doc/ls/README":       "no",
		"./usr/share/doc/ls/copyright":    "licence",
		"./usr/share/man/man1/ls.1":       "no",
		"./var/lib/apt/lists/index":       "no",
		"./var/lib/dpkg/status":           "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\n\nPackage: bash\nVersion: 5.2\n",
		"./usr/share/zoneinfo/Etc/UTC":    "UTC",
		"./usr/share/locale/de/messages":  "no",
		"./dev/null-is-not-a-file-either": "no",
	})
	if err := os.WriteFile(from, archive, 0o644); err != nil {
		t.Fatal(err)
	}
	packages, err := debianTree{Links: map[string]string{"usr/sbin/iptables": "xtables-nft-multi"}}.trim(from, to)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(packages, " "); got != "bash=5.2 libc6=2.36-9" {
		t.Errorf("packages %q", got)
	}
	found := entries(t, to)
	for _, name := range []string{"usr/bin/ls", "usr/share/doc/ls/copyright", "var/lib/dpkg/status", "usr/share/zoneinfo/Etc/UTC", "usr/sbin/iptables"} {
		if _, ok := found[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
	if len(found) != 5 {
		t.Errorf("entries %v, want five", found)
	}
}

func TestStaticBaseJoinsTheCertificates(t *testing.T) {
	t.Parallel()
	archive := tree(t, map[string]string{
		"usr/share/ca-certificates/mozilla/B.crt": "second\n", "usr/share/ca-certificates/mozilla/A.crt": "first", "usr/share/zoneinfo/UTC": "UTC", "usr/bin/x": "no",
	})
	out, err := staticBase{Tree: "tree"}.make(t.Context(), newJob(t, baseStatic, map[string]string{"tree": string(archive)}))
	if err != nil {
		t.Fatal(err)
	}
	found := entries(t, out.file)
	if got := found["etc/ssl/certs/ca-certificates.crt"]; got != "first\nsecond\n" {
		t.Errorf("certificates %q", got)
	}
	if _, ok := found["usr/bin/x"]; ok || found["usr/share/zoneinfo/UTC"] != "UTC" || !strings.Contains(found["etc/passwd"], "nonroot:x:65532:") {
		t.Errorf("entries %v", found)
	}
	if _, err := (staticBase{Tree: "tree"}).make(t.Context(), newJob(t, baseStatic, map[string]string{"tree": string(tree(t, nil))})); err == nil {
		t.Error("a base without certificates is accepted")
	}
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  template:
    spec:
      initContainers:
      - {name: init, image: "example.com/other@sha256:123", imagePullPolicy: Always}
      containers:
      - {name: manager, image: example.com:5000/manager:dev, args: ["--gates=${GATES:=a}"]}
---
kind: Namespace
apiVersion: v1
metadata: {name: x}
`

func TestManifestsUseTheImagesOfTheBundle(t *testing.T) {
	t.Parallel()
	text, err := setImages([]byte(deployment), map[string]string{"example.com:5000/manager": "pause", "example.com/other": "coredns"})
	if err != nil {
		t.Fatal(err)
	}
	for want, count := range map[string]int{componentRef("pause"): 1, componentRef("coredns"): 1, "IfNotPresent": 2, "${GATES:=a}": 1, "example.com": 0, "kind: Namespace": 1} {
		if got := strings.Count(string(text), want); got != count {
			t.Errorf("%q stands %d times, want %d, in\n%s", want, got, count, text)
		}
	}
}

func TestManifestsWithUnknownImagesAreRefused(t *testing.T) {
	t.Parallel()
	for name, images := range map[string]map[string]string{
		"example.com/other":    {"example.com:5000/manager": "pause"},
		"example.com/not-used": {"example.com:5000/manager": "pause", "example.com/other": "pause", "example.com/not-used": "pause"},
	} {
		if _, err := setImages([]byte(deployment), images); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that names %s", err, name)
		}
	}
}

func TestPatchesNoticeAnUpstreamThatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("image: old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]patch{
		"text":   {Replace: []replacement{{"a.yaml", "older", "new"}}},
		"file":   {Replace: []replacement{{"b.yaml", "old", "new"}}},
		"remove": {Remove: []string{"*.go"}},
		"copy":   {Copy: map[string]string{"c.yaml": "b.yaml"}},
	} {
		if err := p.apply(dir); err == nil {
			t.Errorf("%s: a patch that finds nothing succeeds", name)
		}
	}
	good := patch{Copy: map[string]string{"b.yaml": "a.yaml"}, Replace: []replacement{{"b.yaml", "old", "new"}}, Remove: []string{"*.go"}}
	if err := os.WriteFile(filepath.Join(dir, "old.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := good.apply(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old.go")); err == nil {
		t.Error("the file to remove is there")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "b.yaml")); err != nil || string(text) != "image: new\n" {
		t.Errorf("%q (%v)", text, err)
	}
}

func TestArchivesAreReproducible(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	if err := copyTexts(fstest.MapFS{"templates/a.yaml": {Data: []byte("a")}, "run": {Data: []byte("#!/bin/sh\n")}}, dir); err != nil {
		t.Fatal(err)
	}
	var sums [2][32]byte
	for i := range sums {
		file := filepath.Join(out, "archive.tgz")
		if err := writeArchive(file, dir, "chart"); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256(text)
	}
	if sums[0] != sums[1] {
		t.Error("the same files give different archives")
	}
	unpacked := t.TempDir()
	if err := unpackArchive(filepath.Join(out, "archive.tgz"), unpacked); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(unpacked, "chart/templates/a.yaml")); err != nil || string(text) != "a" {
		t.Errorf("%q (%v)", text, err)
	}
}

func TestMachineFilesNameTheImagesOfTheBundle(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"machines/node/etc/containerd/config.toml", "machines/seed/etc/rancher/k3s/config.yaml.d/00-bundle.yaml"} {
		text, err := machineFiles.ReadFile(folder)
		if err != nil {
			t.Fatal(err)
		}
		if filled := string(fillRefs(text)); !strings.Contains(filled, componentRef("pause")) || strings.Contains(filled, "@") {
			t.Errorf("%s:\n%s", folder, filled)
		}
	}
}

func TestUnitsAreEnabledWhereTheySay(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{"lib/systemd/system/systemd-networkd.service": "[Install]\nWantedBy=multi-user.target\n",
		"lib/systemd/system/systemd-networkd-wait-online.service": "[Install]\nWantedBy=network-online.target\n"})
	node := recipes()[nodeSystem].(machine)
	if err := node.writeFiles(t.Context(), nil, root); err != nil {
		t.Fatal(err)
	}
	if err := node.enable(t.Context(), nil, root); err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{
		"multi-user.target.wants/slipway-images@cluster.service":           "/etc/systemd/system/slipway-images@.service",
		"multi-user.target.wants/slipway-images@controllers.service":       "/etc/systemd/system/slipway-images@.service",
		"sysinit.target.wants/slipway-container.service":                   "/etc/systemd/system/slipway-container.service",
		"network-online.target.wants/systemd-networkd-wait-online.service": "/lib/systemd/system/systemd-networkd-wait-online.service",
	} {
		if target, err := os.Readlink(filepath.Join(root, "etc/systemd/system", link)); err != nil || target != want {
			t.Errorf("%s leads to %q (%v), want %s", link, target, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(root, "usr/libexec/slipway/shadow-settings")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script is not executable: %v (%v)", info, err)
	}
}
