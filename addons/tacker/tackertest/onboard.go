package tackertest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const metaFile = "TOSCA-Metadata/TOSCA.meta"

func unpack(content []byte) (map[string][]byte, error) {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("not a zip: %w", err)
	}
	files := map[string][]byte{}
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		text, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		files[f.Name] = text
	}
	return files, nil
}

// process is what happens in PROCESSING: TOSCA.meta, digests, definitions.
func (k *Tacker) process(p *Package) error {
	blocks, err := blocks(p.files[metaFile])
	if err != nil {
		return err
	}
	for key, want := range map[string]string{"TOSCA-Meta-File-Version": "1.0", "CSAR-Version": "1.1"} {
		if blocks[0][key] != want {
			return fmt.Errorf("TOSCA.meta: %s is %q", key, blocks[0][key])
		}
	}
	if p.listed, err = digests(p.files, blocks[1:]); err != nil {
		return err
	}
	if p.VNFD, err = parse(p.files, blocks[0]["Entry-Definitions"]); err != nil {
		return err
	}
	if _, err := uuid.Parse(p.VNFD.ID); err != nil {
		return fmt.Errorf("invalid descriptor_id: %s should be uuid", p.VNFD.ID)
	}
	for _, other := range k.packages {
		if other != p && other.VNFD != nil && other.VNFD.ID == p.VNFD.ID {
			return fmt.Errorf("a package with vnfdId %s exists", p.VNFD.ID)
		}
	}
	for _, script := range p.VNFD.scripts {
		if p.files[script] == nil {
			return fmt.Errorf("script %s is not in the package", script)
		}
	}
	return nil
}

// blocks are those of TOSCA.meta, with an empty line between them.
func blocks(text []byte) ([]map[string]string, error) {
	if text == nil {
		return nil, fmt.Errorf("there is no %s", metaFile)
	}
	all := []map[string]string{{}}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			if len(all[len(all)-1]) > 0 {
				all = append(all, map[string]string{})
			}
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no pair", metaFile, line)
		}
		all[len(all)-1][key] = value
	}
	return all, nil
}

// digests holds artifacts against their digests, and returns which are listed.
func digests(files map[string][]byte, blocks []map[string]string) (map[string]bool, error) {
	listed := map[string]bool{}
	kinds := map[string]func() hash.Hash{"SHA-224": sha256.New224, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New}
	for _, b := range blocks {
		name := b["Name"]
		if name == "" {
			continue
		}
		text, there := files[name]
		kind, known := kinds[b["Algorithm"]]
		switch {
		case !there:
			return nil, fmt.Errorf("artifact %s is not in the package", name)
		case b["Content-Type"] == "":
			return nil, fmt.Errorf("artifact %s has no Content-Type", name)
		case !known:
			return nil, fmt.Errorf("artifact %s: algorithm %q is not supported", name, b["Algorithm"])
		}
		sum := kind()
		sum.Write(text)
		if got := hex.EncodeToString(sum.Sum(nil)); got != b["Hash"] {
			return nil, fmt.Errorf("artifact %s: the hash is %s, not %s", name, got, b["Hash"])
		}
		listed[name] = true
	}
	return listed, nil
}

// imported are a file of definitions and all that it imports, the file first.
func imported(files map[string][]byte, file string, known []string) ([]string, error) {
	if slices.Contains(known, file) {
		return known, nil
	}
	text, ok := files[file]
	if !ok {
		return nil, fmt.Errorf("definitions: %s is not in the package", file)
	}
	known = append(known, file)
	read, err := documentOf(file, text)
	if err != nil {
		return nil, err
	}
	for _, next := range read.Imports {
		if known, err = imported(files, path.Join(path.Dir(file), next), known); err != nil {
			return nil, err
		}
	}
	return known, nil
}
