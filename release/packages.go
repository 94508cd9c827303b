package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes a deb and an rpm for each architecture of Linux.
func (r *release) packages(context.Context) error {
	kinds := map[string]nfpm.Packager{"deb": deb.Default, "rpm": rpm.DefaultRPM}
	for _, p := range r.linux() {
		for kind, packager := range kinds {
			if err := r.pack(p, kind, packager); err != nil {
				return fmt.Errorf("%s for %s: %w", kind, p, err)
			}
		}
	}
	return nil
}

func (r *release) pack(p platform, kind string, packager nfpm.Packager) (err error) {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: r.program, Arch: p.arch, Platform: p.os, Version: r.version, MTime: r.source.time, Section: "admin", Priority: "optional",
		Maintainer: "Slipway's maintainers <maintainers@slipway.sh>", Homepage: "https://github.com/slipway-sh/slipway", License: "Apache-2.0",
		Description: "Cluster API management clusters with a Magnum-compatible API on OpenStack\n" +
			"Slipway turns an empty OpenStack project into a highly available Cluster API\nmanagement cluster with a Magnum-compatible API, and keeps it running.",
		DisableGlobbing: true,
	})
	info.RPM.BuildHost = "localhost" // not this machine's name
	info.Recommends = []string{"ca-certificates"}
	if info.Contents, err = r.contents(p, kind); err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	file, err := os.Create(r.file("_" + p.os + "_" + p.arch + "." + kind))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, file), file.Close())
}

// contents are the files of a package. nfpm reads them from disk.
func (r *release) contents(p platform, kind string) (files.Contents, error) {
	all := files.Contents{r.content(r.binaries[p], "/usr/bin/"+r.program, 0o755)}
	add := func(d document, target string) error {
		source := filepath.Join(r.work, "contents", target)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		all = append(all, r.content(source, target, 0o644))
		return os.WriteFile(source, d.content, 0o644)
	}
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	if err := add(document{content: license}, licensePath(r.program, kind)); err != nil {
		return nil, err
	}
	for _, d := range r.documents {
		target, err := place(&d, kind)
		if err == nil {
			err = add(d, target)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r *release) content(source, target string, mode os.FileMode) *files.Content {
	return &files.Content{Source: source, Destination: target, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.source.time}}
}

func licensePath(program, kind string) string {
	if kind == "rpm" {
		return "/usr/share/licenses/" + program + "/LICENSE"
	}
	return "/usr/share/doc/" + program + "/copyright" // Debian Policy 12.5
}

// place is where a distribution keeps a document; manual pages become compressed
// (Debian Policy 12.1).
func place(d *document, kind string) (string, error) {
	name := path.Base(d.name)
	switch {
	case strings.HasPrefix(d.name, "completions/bash/"):
		return "/usr/share/bash-completion/completions/" + name, nil
	case strings.HasPrefix(d.name, "completions/zsh/") && kind == "deb":
		return "/usr/share/zsh/vendor-completions/" + name, nil
	case strings.HasPrefix(d.name, "completions/zsh/"):
		return "/usr/share/zsh/site-functions/" + name, nil
	case strings.HasPrefix(d.name, "completions/fish/"):
		return "/usr/share/fish/vendor_completions.d/" + name, nil
	case strings.HasPrefix(d.name, "man/man1/"):
		var packed bytes.Buffer
		zipped, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return "", err
		}
		if _, err := zipped.Write(d.content); err != nil {
			return "", err
		}
		err = zipped.Close()
		d.content = packed.Bytes()
		return "/usr/share/man/man1/" + name + ".gz", err
	}
	return "", fmt.Errorf("a package has no place for %s", d.name)
}
