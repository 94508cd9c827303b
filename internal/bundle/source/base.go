package source

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
)

// staticBase is the base of images that hold one static program. It takes the
// certificates and time zones out of a Debian tree.
type staticBase struct {
	plain
	Tree string
	// With is another Debian tree, of which the paths that begin with Paths, and not with
	// Without, are added: a program with its libraries, and none of what it is installed by.
	With           string            `json:",omitempty"`
	Paths, Without []string          `json:",omitempty"`
	Links          map[string]string `json:",omitempty"`
}

func (s staticBase) needs() []string {
	if s.With == "" {
		return []string{s.Tree}
	}
	return []string{s.Tree, s.With}
}

const (
	passwdText = "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	groupText  = "root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n"
	// The order that Go's and C's resolvers expect: files first.
	nsswitchText = "hosts: files dns\n"
)

func (s staticBase) make(_ context.Context, j *job) (output, error) {
	in, err := os.Open(j.input(s.Tree))
	if err != nil {
		return output{}, err
	}
	defer in.Close()
	out, err := os.Create(j.path("base.tar"))
	if err != nil {
		return output{}, err
	}
	defer out.Close()
	tw := tar.NewWriter(out)
	if err := writeSkeleton(tw); err != nil {
		return output{}, err
	}
	certificates, err := copyBase(tw, tar.NewReader(in))
	if err != nil {
		return output{}, err
	}
	if len(certificates) == 0 {
		return output{}, errors.New("no certificates in the Debian tree")
	}
	if err := writeText(tw, "etc/ssl/certs/ca-certificates.crt", joinSorted(certificates)); err != nil {
		return output{}, err
	}
	if s.With != "" {
		if err := s.copyProgram(tw, j.input(s.With)); err != nil {
			return output{}, fmt.Errorf("copying from %s: %w", s.With, err)
		}
	}
	return output{file: out.Name(), packages: j.inputs[s.Tree].packages, source: "debian"}, tw.Close()
}

// copyProgram copies what is wanted of the tree With, and adds the links.
func (s staticBase) copyProgram(tw *tar.Writer, tree string) error {
	in, err := os.Open(tree)
	if err != nil {
		return err
	}
	defer in.Close()
	begins := func(name string) func(string) bool {
		return func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	}
	for reader := tar.NewReader(in); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return writeLinks(tw, s.Links)
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.Paths, begins(header.Name)) || slices.ContainsFunc(s.Without, begins(header.Name)) {
			continue
		}
		if err := copyEntry(tw, header, reader); err != nil {
			return err
		}
	}
}

func writeSkeleton(tw *tar.Writer) error {
	for _, dir := range []tar.Header{
		{Name: "tmp/", Mode: 0o1777}, {Name: "run/", Mode: 0o755}, {Name: "etc/", Mode: 0o755},
		{Name: "home/", Mode: 0o755}, {Name: "home/nonroot/", Mode: 0o700, Uid: 65532, Gid: 65532},
	} {
		dir.Typeflag = tar.TypeDir
		if err := tw.WriteHeader(&dir); err != nil {
			return err
		}
	}
	for _, file := range [][2]string{{"etc/passwd", passwdText}, {"etc/group", groupText}, {"etc/nsswitch.conf", nsswitchText}} {
		if err := writeText(tw, file[0], []byte(file[1])); err != nil {
			return err
		}
	}
	return nil
}

func writeText(tw *tar.Writer, name string, text []byte) error {
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := tw.Write(text)
	return err
}

// copyBase copies time zones and collects the certificates: Debian would join
// them in an install script, which a tree that is only unpacked never runs.
func copyBase(tw *tar.Writer, tree *tar.Reader) (certificates map[string][]byte, err error) {
	certificates = map[string][]byte{}
	for {
		header, err := tree.Next()
		if errors.Is(err, io.EOF) {
			return certificates, nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasPrefix(header.Name, "usr/share/ca-certificates/") && strings.HasSuffix(header.Name, ".crt"):
			if certificates[header.Name], err = io.ReadAll(tree); err != nil {
				return nil, err
			}
		case strings.HasPrefix(header.Name, "usr/share/zoneinfo/"):
			if err := copyEntry(tw, header, tree); err != nil {
				return nil, err
			}
		}
	}
}

func joinSorted(parts map[string][]byte) []byte {
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	sort.Strings(names)
	var all bytes.Buffer
	for _, name := range names {
		all.Write(bytes.TrimRight(parts[name], "\n"))
		all.WriteByte('\n')
	}
	return all.Bytes()
}
