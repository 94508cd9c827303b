package source

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"sort"
	"strings"
)

// debianTree is a root file system of Debian packages as a tar archive, made
// by mmdebstrap.
type debianTree struct {
	plain
	// Variant is mmdebstrap's: "extract" only unpacks, "minbase" installs.
	Variant  string
	Packages []string
	// Links are added, as path to target.
	Links map[string]string
}

func (debianTree) needs() []string { return nil }

func (d debianTree) make(ctx context.Context, j *job) (output, error) {
	b := j.builder
	args := []string{"--variant=" + d.Variant, "--format=tar", "--include=" + strings.Join(d.Packages, ","),
		"--aptopt=Acquire::Retries \"3\"", b.options.DebianSuite, j.path("tree.tar")}
	if b.options.DebianMirror != "" {
		args = append(args, b.options.DebianMirror)
	}
	cmd := b.command(ctx, "", "mmdebstrap", args...)
	// A fixed time makes file dates, and with them archives, reproducible.
	cmd.Env = append(append([]string(nil), b.options.Env...), "SOURCE_DATE_EPOCH=0", "TMPDIR="+j.dir)
	if err := b.runCommand(cmd, func(line string) { j.step.Run(line) }); err != nil {
		return output{}, debianFailure(err)
	}
	packages, err := d.trim(j.path("tree.tar"), j.path("trimmed.tar"))
	if err != nil {
		return output{}, fmt.Errorf("trimming the tree: %w", err)
	}
	return output{file: j.path("trimmed.tar"), packages: packages, source: "debian " + b.options.DebianSuite}, nil
}

// debianFailure names a missing tool; everything else mmdebstrap says itself.
func debianFailure(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: install the packages that `slipway bundle build --help` lists", err)
	}
	return err
}

// needless are the parts of a tree that no machine reads.
func needless(name string) bool {
	for _, prefix := range []string{"usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/",
		"usr/share/bash-completion/", "usr/share/lintian/", "var/cache/", "var/lib/apt/", "var/log/", "dev/", "usr/share/perl5/Debconf/"} {
		if strings.HasPrefix(name, prefix) && name != prefix {
			return !strings.HasSuffix(name, "/copyright")
		}
	}
	return false
}

// trim copies a tree without what is needless, adds the links, and reads the
// list of packages on the way.
func (d debianTree) trim(from, to string) (packages []string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	reader, writer := tar.NewReader(in), tar.NewWriter(out)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(header.Name, "./")
		if needless(name) {
			continue
		}
		header.Name = name
		var content io.Reader = reader
		if name == "var/lib/dpkg/status" {
			var text strings.Builder
			content = io.TeeReader(reader, &text)
			defer func() { packages = packageList(text.String()) }()
		}
		if err := copyEntry(writer, header, content); err != nil {
			return nil, err
		}
	}
	if err := writeLinks(writer, d.Links); err != nil {
		return nil, err
	}
	return nil, writer.Close()
}

func copyEntry(w *tar.Writer, header *tar.Header, content io.Reader) error {
	if header.Name == "" {
		return nil // the root itself
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(w, content)
	return err
}

func writeLinks(w *tar.Writer, links map[string]string) error {
	names := make([]string, 0, len(links))
	for name := range links {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		header := &tar.Header{Typeflag: tar.TypeSymlink, Name: path.Clean(name), Linkname: links[name], Mode: 0o777}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
	}
	return nil
}

// packageList reads dpkg's status file into sorted name=version pairs.
func packageList(status string) []string {
	var packages []string
	var name string
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Package":
			name = value
		case "Version":
			packages = append(packages, name+"="+value)
		}
	}
	sort.Strings(packages)
	return packages
}
