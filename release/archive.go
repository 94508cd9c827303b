package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// archives packs for each platform the program with its documents and the licence.
func (r *release) archives(context.Context) error {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, p := range r.targets {
		target := r.file("_" + p.os + "_" + p.arch + ".tar.gz")
		if err := r.archive(target, r.binaries[p], append([]document{{"LICENSE", license}}, r.documents...)); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) archive(target, binary string, documents []document) (err error) {
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zipped, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zipped)
	top := strings.TrimSuffix(filepath.Base(target), ".tar.gz")
	if err := r.addFile(tw, path.Join(top, r.program), binary); err != nil {
		return err
	}
	for _, d := range documents {
		if err := r.addBytes(tw, path.Join(top, d.name), d.content); err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), zipped.Close())
}

// header has nothing of this machine: no user, and the commit's time.
func (r *release) header(name string, mode, size int64) *tar.Header {
	return &tar.Header{Name: name, Mode: mode, Size: size, ModTime: r.source.time, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
}

func (r *release) addBytes(tw *tar.Writer, name string, content []byte) error {
	if err := tw.WriteHeader(r.header(name, 0o644, int64(len(content)))); err != nil {
		return err
	}
	_, err := tw.Write(content)
	return err
}

func (r *release) addFile(tw *tar.Writer, name, source string) error {
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(r.header(name, 0o755, info.Size())); err != nil {
		return err
	}
	_, err = io.Copy(tw, file)
	return err
}
