package csar

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// maxFile is how large a file of a package may be when it is unpacked, maxAll all of them: an
// archive of a few kilobytes can name the same bytes thousands of times.
const (
	maxFile = 64 << 20
	maxAll  = 256 << 20
)

// Content is an opened package.
type Content struct {
	// ID, Units and VNFD are what its definitions say.
	ID    string
	Units []string
	VNFD  Descriptor
	// Files are its files by path.
	Files map[string][]byte
}

// Verify opens a package and checks its layout, every digest and the definitions. It
// tells all mistakes.
func Verify(text []byte) (*Content, error) {
	c := &Content{}
	var err error
	if c.Files, err = unpack(text); err != nil {
		return nil, fault.New("package", err, "make the package again")
	}
	meta, wrong := c.meta()
	if wrong == nil {
		wrong = c.digests(meta)
	}
	d, err := c.read(meta)
	if err = errors.Join(wrong, err); err != nil {
		return nil, err
	}
	return c, d.check(c)
}

func unpack(text []byte) (map[string][]byte, error) { return unpackWithin(text, maxFile, maxAll) }

func unpackWithin(text []byte, most, left int64) (map[string][]byte, error) {
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, fmt.Errorf("opening the archive: %w", err)
	}
	files := map[string][]byte{}
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if _, twice := files[f.Name]; twice || !clean(f.Name) {
			return nil, fmt.Errorf("file %q: the path is there twice or leads out of the package", f.Name)
		}
		in, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Name, err)
		}
		content, err := io.ReadAll(io.LimitReader(in, min(most, left)+1))
		in.Close()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Name, err)
		}
		if int64(len(content)) > most {
			return nil, fmt.Errorf("file %s: it has more than %d bytes when it is unpacked", f.Name, most)
		}
		if left -= int64(len(content)); left < 0 {
			return nil, fmt.Errorf("file %s: up to it the package has more bytes than are unpacked of one", f.Name)
		}
		files[f.Name] = content
	}
	return files, nil
}

func clean(name string) bool {
	return path.Clean(name) == name && !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
}

// block is a block of TOSCA.meta.
type block map[string]string

// meta reads TOSCA.meta, whose blocks are separated by empty lines.
func (c *Content) meta() ([]block, error) {
	text, ok := c.Files[metaFile]
	if !ok {
		return nil, broken(metaFile, "it is missing")
	}
	blocks := []block{{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line, last := strings.TrimSpace(lines.Text()), blocks[len(blocks)-1]
		key, value, ok := strings.Cut(line, ":")
		switch {
		case line == "" && len(last) > 0:
			blocks = append(blocks, block{})
		case line != "" && !ok:
			return nil, broken(metaFile, "line %q has no colon", line)
		case line != "":
			last[key] = strings.TrimSpace(value)
		}
	}
	var wrong []error
	for key, want := range map[string]string{"TOSCA-Meta-File-Version": "1.0", "CSAR-Version": "1.1"} {
		if blocks[0][key] != want {
			wrong = append(wrong, broken(metaFile, "%s is %q, not %s", key, blocks[0][key], want))
		}
	}
	if entry := blocks[0]["Entry-Definitions"]; c.Files[entry] == nil {
		wrong = append(wrong, broken(metaFile, "Entry-Definitions names %q, which is not in the package", entry))
	}
	return blocks, errors.Join(wrong...)
}

// digests holds every artifact against its digest. What a request deploys has to be
// listed, else Tacker fails while it deploys.
func (c *Content) digests(meta []block) error {
	var wrong []error
	var listed []string
	for _, b := range meta[1:] {
		name := b["Name"]
		if name == "" {
			continue
		}
		listed = append(listed, name)
		content, ok := c.Files[name]
		sum, known := digestBy(b["Algorithm"], content)
		switch {
		case !ok:
			wrong = append(wrong, broken(name, "TOSCA.meta lists it, and it is not in the package"))
		case !known:
			wrong = append(wrong, broken(name, "algorithm %q is none of SHA-224, SHA-256, SHA-384, SHA-512", b["Algorithm"]))
		case !strings.EqualFold(sum, b["Hash"]):
			wrong = append(wrong, broken(name, "its digest is %s, TOSCA.meta says %s", sum, b["Hash"]))
		}
	}
	for name := range c.Files {
		if contentType(name) != "" && !slices.Contains(listed, name) {
			wrong = append(wrong, broken(name, "TOSCA.meta does not list it"))
		}
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

func digestBy(algorithm string, content []byte) (string, bool) {
	switch algorithm {
	case "SHA-224":
		sum := sha256.Sum224(content)
		return hex.EncodeToString(sum[:]), true
	case "SHA-256":
		return digest(content), true
	case "SHA-384":
		sum := sha512.Sum384(content)
		return hex.EncodeToString(sum[:]), true
	case "SHA-512":
		sum := sha512.Sum512(content)
		return hex.EncodeToString(sum[:]), true
	}
	return "", false
}

// broken is a mistake in a package.
func broken(object, format string, args ...any) error {
	return fault.New(object, fmt.Errorf(format, args...), "correct it, and make the package again")
}
