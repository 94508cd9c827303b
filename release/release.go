package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
)

// options of a release.
type options struct {
	// root is the repository, out the folder of the files.
	root, out string
	// program is the name of the command in cmd, versions the package that the
	// linker tells version and commit.
	program, versions string
	version           string
	platforms         string
	key, password     string
	unsigned, dirty   bool
	targets           []platform
	signer            *minisign.PrivateKey
	log               io.Writer
}

// platform is what a program runs on, in Go's words.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// versionForm is semantic versioning's, with the v of Go.
var versionForm = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func parsePlatforms(text string) ([]platform, error) {
	var all []platform
	for _, one := range strings.Split(text, ",") {
		system, arch, ok := strings.Cut(one, "/")
		if !ok || system == "" || arch == "" {
			return nil, fmt.Errorf("-platforms: %q is not a platform such as linux/amd64", one)
		}
		all = append(all, platform{system, arch})
	}
	return all, nil
}

// release is one under way.
type release struct {
	options
	source source
	// work is a folder for what is not published.
	work string
	// binaries are files by platform.
	binaries map[platform]string
	// documents are completions and manual pages.
	documents []document
}

// makeRelease makes all files in a folder beside the one wanted, and puts it in
// its place at the end: a release is whole or not there.
func makeRelease(ctx context.Context, o options) (err error) {
	r := &release{options: o, binaries: map[platform]string{}}
	if r.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist")
	}
	if err := replaceable(r.out); err != nil {
		return err
	}
	if r.source, err = readSource(ctx, r.root, o.dirty); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "slipway-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	final := r.out
	r.out = final + ".new"
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(r.out)
	if err := r.steps(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	if err := os.Rename(r.out, final); err != nil {
		return err
	}
	r.say("%s is in %s", r.version, final)
	return nil
}

// replaceable refuses a folder that has something else in it than a release: it would be
// removed as a whole, and it may be somebody's home.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ofRelease := func(entry fs.DirEntry) bool { return entry.Name() == sumsFile }
	if len(entries) > 0 && !slices.ContainsFunc(entries, ofRelease) {
		return fmt.Errorf("-out: %s would be replaced, but it is no release: it has no %s; name another folder, or empty it", dir, sumsFile)
	}
	return nil
}

// steps are in the order in which mistakes show soonest.
func (r *release) steps(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"writing release notes", r.notes},
		{"building programs", r.build},
		{"writing completions and manual pages", r.document},
		{"packing archives", r.archives},
		{"packing deb and rpm", r.packages},
		{"making the container image", r.image},
		{"writing the bill of materials", r.bill},
		{"writing digests", r.sums},
	} {
		start := time.Now()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		r.say("%s took %s", step.name, time.Since(start).Round(100*time.Millisecond))
	}
	return nil
}

func (r *release) say(format string, args ...any) {
	fmt.Fprintf(r.log, "release: "+format+"\n", args...)
}

// file is the path of a published file, named after program, version and what
// comes after.
func (r *release) file(rest string) string {
	return filepath.Join(r.out, r.program+"_"+strings.TrimPrefix(r.version, "v")+rest)
}

// linux are the targets that have packages and images.
func (r *release) linux() []platform {
	return slices.DeleteFunc(slices.Clone(r.targets), func(p platform) bool { return p.os != "linux" })
}

func host() platform { return platform{runtime.GOOS, runtime.GOARCH} }
