package upstream_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

func memberOf(c component.Component, file []byte, member string) component.Pin {
	return component.Pin{Name: c.Name, Version: c.Version, URL: base + "/all.tar.gz", SHA256: sum(file), Member: member}
}

func TestMembersOfOneArchive(t *testing.T) {
	t.Parallel()
	one, two := binary("one"), binary("two")
	oneFile, twoFile := noise(40, 3000), noise(41, 4000)
	file := archive(t, map[string][]byte{"./bin/one": oneFile, "bin/two": twoFile, "README": []byte("hello")})
	s := newSite(t, map[string][]byte{"all.tar.gz": file})
	folder := newFolder(t)
	o := s.options(memberOf(one, file, "bin/one"), memberOf(two, file, "bin/two"))
	for range 2 {
		if err := upstream.Pull(t.Context(), folder, []component.Component{one, two}, o); err != nil {
			t.Fatal(err)
		}
		if n := len(s.seen()); n != 1 {
			t.Errorf("%d requests for one archive", n)
		}
	}
	checkStored(t, folder, one, oneFile)
	checkStored(t, folder, two, twoFile)
	want := base + "/all.tar.gz#sha256=" + sum(file) + "&member=bin/one"
	if got := folder.Bill().Item("one").Source; got != want {
		t.Errorf("source %s, want %s", got, want)
	}
	if left := partialFiles(t, folder); len(left) > 0 {
		t.Errorf("files stay: %v", left)
	}
}

func TestNewArchiveReplacesMember(t *testing.T) {
	t.Parallel()
	c := binary("one")
	old := archive(t, map[string][]byte{"bin/one": noise(42, 100)})
	renewed := archive(t, map[string][]byte{"bin/one": noise(43, 100)})
	s := newSite(t, map[string][]byte{"all.tar.gz": old})
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(memberOf(c, old, "bin/one"))); err != nil {
		t.Fatal(err)
	}
	s.files["all.tar.gz"] = renewed
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(memberOf(c, renewed, "bin/one"))); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, noise(43, 100))
}

func TestArchivesThatAreRefused(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for name, test := range map[string]struct {
		file  []byte
		texts []string
	}{
		"member missing":   {archive(t, map[string][]byte{"bin/two": noise(44, 10)}), []string{"the archive has no bin/one"}},
		"member too large": {archive(t, map[string][]byte{"bin/one": make([]byte, limit+1)}), []string{"bin/one in the archive has 1048577 bytes", "at most 1048576"}},
		"bomb before the member": {archive(t, map[string][]byte{"bin/aaa": make([]byte, 4*limit)}),
			[]string{"the unpacked archive", "at most"}},
		"member is a link": {link(t, "bin/one", "/etc/passwd"), []string{"not a regular file"}},
		"no archive":       {[]byte("plain text"), []string{"not a gzip archive"}},
		"no tar in it":     {zipped(t, bytes.Repeat([]byte("x"), 2000)), []string{"reading the archive"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := binary("one")
			s := newSite(t, map[string][]byte{"all.tar.gz": test.file})
			folder := newFolder(t)
			o := s.options(memberOf(c, test.file, "bin/one"))
			o.MaxBytes = limit
			err := upstream.Pull(t.Context(), folder, []component.Component{c}, o)
			wantFault(t, err, fault.ExitFailure, append(test.texts, "one from "+s.URL+"/all.tar.gz")...)
			if folder.Bill().Item("one") != nil {
				t.Error("the bill has the refused item")
			}
		})
	}
}

func TestOneMemberFailsAlone(t *testing.T) {
	t.Parallel()
	one, two := binary("one"), binary("two")
	file := archive(t, map[string][]byte{"bin/one": noise(45, 100)})
	s := newSite(t, map[string][]byte{"all.tar.gz": file})
	folder := newFolder(t)
	err := upstream.Pull(t.Context(), folder, []component.Component{one, two}, s.options(memberOf(one, file, "bin/one"), memberOf(two, file, "bin/two")))
	wantFault(t, err, fault.ExitPartial, "two from", "the archive has no bin/two")
	checkStored(t, folder, one, noise(45, 100))
}

func TestFileAboveTheBound(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(46, 5000)
	for name, announced := range map[string]bool{"announced": true, "not announced": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string][]byte{"tool": file})
			if !announced {
				s.before = chunked(file)
			}
			folder := newFolder(t)
			o := s.options(pinned(c, file))
			o.MaxBytes = 4999
			err := upstream.Pull(t.Context(), folder, []component.Component{c}, o)
			wantFault(t, err, fault.ExitFailure, "5000 bytes", "at most 4999")
			if left := partialFiles(t, folder); len(left) > 0 {
				t.Errorf("files stay: %v", left)
			}
		})
	}
}

func link(t *testing.T, name, target string) []byte {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	err := tw.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target})
	if err := errors.Join(err, tw.Close()); err != nil {
		t.Fatal(err)
	}
	return zipped(t, out.Bytes())
}

func zipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
