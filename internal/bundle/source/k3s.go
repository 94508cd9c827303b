package source

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// k3sBinary is k3s as its users know it: one executable that unpacks the
// server, the container runtime and the CNI plugins when it first runs, and
// checks them by the digests it carries (row F19).
type k3sBinary struct {
	program
	// Programs maps names in the archive's bin folder to recipes.
	Programs map[string]string
	// Plugins is the recipe of the CNI plugins' archive.
	Plugins string
}

func (k k3sBinary) needs() []string {
	needs := []string{k.Plugins}
	for _, need := range k.Programs {
		needs = append(needs, need)
	}
	slices.Sort(needs)
	return needs
}

func (k k3sBinary) make(ctx context.Context, j *job) (output, error) {
	workspace, err := j.builder.workspace(ctx, k.Module)
	if err != nil {
		return output{}, err
	}
	bin, err := j.mkdir("data", "bin")
	if err != nil {
		return output{}, err
	}
	if err := k.fill(j, bin); err != nil {
		return output{}, fmt.Errorf("filling the archive: %w", err)
	}
	archive, err := packData(j.path("data"), j.dir)
	if err != nil {
		return output{}, fmt.Errorf("packing the archive: %w", err)
	}
	embedded := filepath.Join(workspace, "patched", "k3s", "pkg", "data", "embed", filepath.Base(archive))
	if err := os.Rename(archive, embedded); err != nil {
		return output{}, err
	}
	defer os.Remove(embedded)
	if err := j.builder.compile(ctx, j, workspace, k.program, j.path("out")); err != nil {
		return output{}, err
	}
	return output{file: j.path("out"), source: k.source(), contains: k.needs()}, nil
}

// serverLinks are the names by which the server program is called.
func serverLinks() []string {
	return []string{"containerd", "crictl", "ctr", "k3s-agent", "k3s-certificate", "k3s-completion", "k3s-etcd-snapshot",
		"k3s-secrets-encrypt", "k3s-server", "k3s-token", "kubectl"}
}

// fill lays the programs out as k3s expects them: "cni" is one program with a
// link for each plugin, and digests and links are listed beside them.
func (k k3sBinary) fill(j *job, bin string) error {
	for name, need := range k.Programs {
		if err := copyProgram(filepath.Join(bin, name), j.input(need)); err != nil {
			return err
		}
	}
	if err := unpackArchive(j.input(k.Plugins), filepath.Join(bin, "plugins")); err != nil {
		return err
	}
	links := map[string]string{}
	for _, name := range serverLinks() {
		links[name] = "k3s"
	}
	plugins, err := os.ReadDir(filepath.Join(bin, "plugins"))
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		links[plugin.Name()] = "cni"
	}
	return describe(bin, links)
}

// describe makes the links and writes the two lists that k3s verifies.
func describe(bin string, links map[string]string) error {
	var names []string
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s %s\n", name, target))
	}
	slices.Sort(names)
	sums, err := digests(bin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, ".links"), []byte(strings.Join(names, "")), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bin, ".sha256sums"), []byte(sums), 0o644)
}

func digests(bin string) (string, error) {
	var sums strings.Builder
	err := filepath.WalkDir(bin, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", hash.Sum(nil), strings.TrimPrefix(name, bin+"/"))
		return nil
	})
	return sums.String(), err
}

// packData packs the folder into an archive that is named by its digest, which
// is also the name of the folder that k3s unpacks it into.
func packData(dir, to string) (string, error) {
	out, err := os.Create(filepath.Join(to, "data.tar.zst"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	hash := sha256.New()
	compressor, err := zstd.NewWriter(io.MultiWriter(out, hash), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return "", err
	}
	tw := tar.NewWriter(compressor)
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		return addEntry(tw, name, strings.TrimPrefix(name, dir+"/"), entry)
	})
	if err != nil {
		return "", err
	}
	if err := tw.Close(); err != nil {
		return "", err
	}
	if err := compressor.Close(); err != nil {
		return "", err
	}
	named := filepath.Join(to, fmt.Sprintf("%x.tar.zst", hash.Sum(nil)))
	return named, os.Rename(out.Name(), named)
}

func addEntry(tw *tar.Writer, file, name string, entry fs.DirEntry) error {
	switch {
	case entry.IsDir():
		return tw.WriteHeader(&tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir})
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		if err != nil {
			return err
		}
		return tw.WriteHeader(&tar.Header{Name: name, Linkname: target, Mode: 0o777, Typeflag: tar.TypeSymlink})
	}
	return archiveFile(tw, file, name)
}
