package source

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// writeArchive packs a folder into a gzipped tar below a prefix. Order, times
// and owners are fixed, so that the same files give the same bytes.
func writeArchive(file, dir, prefix string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	zip := gzip.NewWriter(out)
	tw := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return archiveFile(tw, name, path.Join(prefix, filepath.ToSlash(strings.TrimPrefix(name, dir+"/"))))
	})
	if err != nil {
		return err
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zip.Close()
}

func archiveFile(tw *tar.Writer, file, name string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(tw, in)
	return err
}

// unpackArchive unpacks what writeArchive wrote, without folders outside dir.
func unpackArchive(file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	reader := tar.NewReader(zip)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			continue
		}
		if err := writeProgram(filepath.Join(dir, header.Name), reader); err != nil {
			return err
		}
	}
}

// writeProgram writes an executable file and the folders above it.
func writeProgram(file string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, content); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// copyProgram copies a file to an executable.
func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeProgram(to, in)
}
