package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/charts"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Both machines import Slipway's own image.
func TestMachinesBringSlipwaysImage(t *testing.T) {
	t.Parallel()
	all := recipes()
	for name, folder := range map[string]string{"node": nodeSystem, "seed": seedSystem} {
		late, ok := all[name].(lateArchive)
		if !ok || late.System != folder || !slices.Contains(late.Images, component.SlipwayImage) || slices.Contains(all[folder].needs(), component.SlipwayImage) {
			t.Errorf("%s: %+v", name, all[name])
		}
	}
	conf, err := machineFiles.ReadFile("machines/seed/usr/share/slipway/k3s.conf")
	if err != nil || !strings.Contains(string(conf), "/"+imageFolder+"/"+ownArchive+".tar") {
		t.Errorf("k3s does not find the archive (%v):\n%s", err, conf)
	}
}

func TestAnotherBinaryIsAnotherKeyOfWhatItIsIn(t *testing.T) {
	t.Parallel()
	of := func(content string) map[string]string {
		file := filepath.Join(t.TempDir(), "slipway")
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		all := recipes()
		var err error
		if all[programName], err = newOwnProgram(file); err != nil {
			t.Fatal(err)
		}
		got, err := keys(all, "go1")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first, again, other := of("one"), of("one"), of("two")
	for name := range first {
		if first[name] != again[name] {
			t.Errorf("%s: the key follows the place of the binary", name)
		}
		in := slices.Contains([]string{programName, component.SlipwayImage, "node", "seed"}, name)
		if (first[name] != other[name]) != in {
			t.Errorf("%s: changed %t, want %t", name, !in, in)
		}
	}
}

func TestADynamicBinaryIsRefused(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	program, err := newOwnProgram(shell)
	if err != nil {
		t.Fatal(err)
	}
	_, err = program.make(t.Context(), newJob(t, programName, nil))
	if err == nil || !strings.Contains(err.Error(), "linked dynamically") || !strings.Contains(fault.Remedy(err), "CGO_ENABLED=0") {
		t.Errorf("error %v", err)
	}
	if _, err := (ownProgram{}).make(t.Context(), newJob(t, programName, nil)); err == nil {
		t.Error("no binary is accepted")
	}
}

// The image has the binary to run and the charts to read, with an index that
// names them as the addon provider looks for them.
func TestSlipwaysImageHasProgramAndCharts(t *testing.T) {
	t.Parallel()
	recipe := recipes()[component.SlipwayImage].(container)
	inputs := map[string]string{}
	for _, need := range recipe.needs() {
		inputs[need] = "content of " + need
	}
	inputs[baseStatic] = string(tree(t, map[string]string{"etc/passwd": "root"}))
	out, err := recipe.make(t.Context(), newJob(t, component.SlipwayImage, inputs))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := out.image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[1].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		modes["/"+header.Name] = header.Mode
	}
	if modes["/usr/bin/slipway"] != 0o755 || modes[chartFolder+"/"+charts.IndexFile] != 0o644 || modes[chartFolder+"/metrics-server-0.8.0.tgz"] != 0o644 {
		t.Errorf("modes %v", modes)
	}
}

func TestChartIndexIsWhatTheAddonProviderReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chart := filepath.Join(dir, "chart")
	if err := os.MkdirAll(chart, 0o755); err != nil {
		t.Fatal(err)
	}
	// The chart's version is not the program's.
	if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: metrics-server\nversion: 3.13.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	archive := filepath.Join(dir, "metrics-server-0.8.0.tgz")
	if err := writeArchive(archive, chart, "metrics-server"); err != nil {
		t.Fatal(err)
	}
	digest, err := copyHashed(&packed, archive)
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, indexName, map[string]string{"metrics-server-chart": packed.String()})
	out, err := chartIndex{Charts: []string{"metrics-server-chart"}}.make(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(out.file, filepath.Join(dir, charts.IndexFile)); err != nil {
		t.Fatal(err)
	}
	index, err := charts.ReadIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	entry, ok := index.Find(charts.Reference{Repository: "https://kubernetes-sigs.github.io/metrics-server/", Name: "metrics-server", Version: "v3.13.0"})
	if !ok || entry.File != "metrics-server-0.8.0.tgz" || entry.Digest != "sha256:"+digest {
		t.Errorf("entry %+v (%t)", entry, ok)
	}
	if _, err := entryOf("snapshot-crds", archive); err == nil {
		t.Error("what no repository publishes has an entry")
	}
}

// An archive that is put in later is there whole, and the file system is sound.
func TestArchivesArePutIntoAnImage(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"mke2fs", "debugfs", "e2fsck"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v: run make deps", err)
		}
	}
	j := newJob(t, "node", nil)
	j.dir = filepath.Join(t.TempDir(), "a folder with spaces")
	j.builder.options.Env = os.Environ()
	root := j.path("root")
	if err := os.MkdirAll(filepath.Join(root, imageFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	loader := bootdisk.Loader{EFI: []byte("program"), EFIName: "BOOTX64.EFI"}
	if err := writeDisk(t.Context(), j, root, j.path("machine.raw"), 8<<20, loader, bootdisk.TypeRootAMD64); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(j.path("archive.tar"), bytes.Repeat([]byte("slipway"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	const target = imageFolder + "/controllers.tar"
	if err := insert(t.Context(), j, "machine.raw", "archive.tar", target); err != nil {
		t.Fatal(err)
	}
	for _, check := range [][]string{{"e2fsck", "-fn", inDisk("machine.raw")}, {"debugfs", "-R", "dump -p /" + target + " out.tar", inDisk("machine.raw")}, {"cmp", "archive.tar", "out.tar"}} {
		cmd := exec.CommandContext(t.Context(), check[0], check[1:]...)
		cmd.Dir = j.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", check, err, out)
		}
	}
	if info, err := os.Stat(j.path("out.tar")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v (%v)", info, err)
	}
	if err := insert(t.Context(), j, "machine.raw", "archive.tar", "no/such/folder/x.tar"); err == nil {
		t.Error("a folder that is not there is accepted")
	}
	image, err := os.Stat(j.path("machine.raw"))
	if err != nil {
		t.Fatal(err)
	}
	disk, err := os.Open(j.path("machine.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	if found, err := bootdisk.FindRoot(disk, image.Size()); err != nil || found.Offset != bootdisk.RootOffset {
		t.Errorf("the partition table afterwards: %+v, %v", found, err)
	}
	// As large as all of it, and not zeros, for which there would be room.
	if err := os.WriteFile(j.path("archive.tar"), bytes.Repeat([]byte("slipway"), int(image.Size())/7), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := insert(t.Context(), j, "machine.raw", "archive.tar", imageFolder+"/large.tar"); err == nil {
		t.Error("what has no room is accepted")
	}
}

// Disks of equal trees are equal, whenever the files were made: what is put in
// later is in the same place with the same times.
func TestEqualTreesMakeEqualDisks(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"mke2fs", "debugfs", "e2fsck"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v: run make deps", err)
		}
	}
	var digests, disks []string
	for range 2 {
		j := newJob(t, "node", nil)
		j.builder.options.Env = os.Environ()
		root := j.path("root")
		for _, name := range []string{"etc/one", "etc/two", imageFolder + "/x.tar", "usr/a/b/c"} {
			text := strings.Repeat(name, 1000)
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Symlink("one", filepath.Join(root, "etc/link")), setTimes(root)); err != nil {
			t.Fatal(err)
		}
		loader := bootdisk.Loader{EFI: []byte("program"), EFIName: "BOOTX64.EFI"}
		if err := writeDisk(t.Context(), j, root, j.path("machine.raw"), 8<<20, loader, bootdisk.TypeRootAMD64); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(j.path("archive.tar"), []byte("archive"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := insert(t.Context(), j, "machine.raw", "archive.tar", imageFolder+"/late.tar"); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "e2fsck", "-fn", inDisk(j.path("machine.raw"))).CombinedOutput(); err != nil {
			t.Errorf("e2fsck: %v: %s", err, out)
		}
		digest, err := copyHashed(io.Discard, j.path("machine.raw"))
		if err != nil {
			t.Fatal(err)
		}
		digests, disks = append(digests, digest), append(disks, j.path("machine.raw"))
		time.Sleep(1100 * time.Millisecond) // the next tree is a second younger
	}
	if digests[0] != digests[1] {
		out, _ := exec.CommandContext(t.Context(), "sh", "-c", "cmp -l \"$1\" \"$2\" | head -20", "cmp", disks[0], disks[1]).Output()
		t.Errorf("digests of equal trees: %s; the first differences:\n%s", digests, out)
	}
}

func TestWhatAnotherBinaryMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "slipway")
	if err := os.WriteFile(file, []byte("one"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := newOwnProgram(file)
	if err != nil {
		t.Fatal(err)
	}
	bill := func(source string) *bundle.Bill {
		inside := map[string]string{component.SlipwayImage: "00"}
		return &bundle.Bill{Items: []bundle.Item{{Name: "kubelet"}, {Name: component.SlipwayImage, Source: source}, {Name: "node", Contains: inside}, {Name: "seed", Contains: inside}}}
	}
	for name, test := range map[string]struct {
		source string
		want   []string
	}{
		"this binary":    {program.source(), nil},
		"another binary": {ownSource + "00", []string{component.SlipwayImage, "node", "seed"}},
		"pulled":         {"ghcr.io/slipway-sh/slipway@sha256:00", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := OfAnotherBinary(bill(test.source), file)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%v (%v), want %v", got, err, test.want)
			}
		})
	}
	if _, err := OfAnotherBinary(bill(ownSource+"00"), "/nonexistent"); err == nil {
		t.Error("a binary that cannot be read is ignored")
	}
}
