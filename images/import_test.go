package images

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
)

// shown shows an image in another status than it has, where status names one.
type shown struct {
	http.RoundTripper
	status func(*http.Request) string
}

func (s *shown) RoundTrip(r *http.Request) (*http.Response, error) {
	status := s.status(r)
	response, err := s.RoundTripper.RoundTrip(r)
	if err != nil || status == "" {
		return response, err
	}
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	text = regexp.MustCompile(`"status":\s*"[a-z_]+"`).ReplaceAll(text, []byte(`"status": "`+status+`"`))
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return response, err
}

// isImport says that a call asks for an import, isLook that it reads one image.
func isImport(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/import")
}

func isLook(r *http.Request) bool {
	return r.Method == http.MethodGet && path.Base(path.Dir(r.URL.Path)) == "images"
}

// Glance answers before it begins: the image is in the queue for a moment.
func TestAnImportBeginsALittleLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := qcow2(1)
	i := f.node(t, "node", data)
	i.Method, i.URL, i.File = manifest.MethodWebDownload, web(t, "node.qcow2", data), ""
	var queued atomic.Int32
	f.calls.next = &shown{f.calls.next, func(r *http.Request) string {
		switch {
		case isImport(r):
			queued.Store(3)
		case isLook(r) && queued.Add(-1) >= 0:
			return "queued"
		}
		return ""
	}}
	if result := f.sync(t, i); result.Bytes > 0 || !bytes.Equal(f.bytes(t, result.ID), data) || queued.Load() >= 0 {
		t.Errorf("result %+v, images %+v", result, f.all(t))
	}
}

// Others leave the image alone while Glance imports the bytes that it was sent.
func TestTheLeaseIsKeptDuringAnImport(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.node(t, "node", qcow2(1))
	i.Method = manifest.MethodGlanceDirect
	f.Lease, f.ImportWait = 60*time.Millisecond, 10*time.Second
	var importing, renewed atomic.Bool
	f.calls.next = &shown{f.calls.next, func(r *http.Request) string {
		switch {
		case isImport(r):
			importing.Store(true)
		case importing.Load() && r.Method == http.MethodPatch:
			renewed.Store(true) // the description follows when the image is active
		case importing.Load() && isLook(r) && !renewed.Load():
			return "importing"
		}
		return ""
	}}
	if result := f.sync(t, i); result.Bytes == 0 || len(f.all(t)) != 1 {
		t.Errorf("result %+v, images %+v", result, f.all(t))
	}
}

// zipped are bytes as they may be published.
func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// The name of a download need not tell that it is compressed: Glance would keep it so.
func TestACompressedImageIsNotLeftToGlance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := qcow2(1)
	packed := zipped(t, data)
	i := f.node(t, "node", packed)
	i.Method, i.URL, i.File = manifest.MethodWebDownload, web(t, "download", packed), ""
	lease := f.Lease
	f.Lease = -time.Minute
	if _, err := f.claim(t.Context(), i, nil); err != nil { // of a run that was killed
		t.Fatal(err)
	}
	f.Lease = lease
	if result := f.sync(t, i); result.Bytes == 0 || !bytes.Equal(f.bytes(t, result.ID), data) || len(f.all(t)) != 1 {
		t.Errorf("result %+v, images %+v", result, f.all(t))
	}
}

// One that Glance kept compressed has the digest of what is published, and boots nowhere.
func TestAnImageThatGlanceKeptCompressedIsBroughtAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := qcow2(1)
	packed := zipped(t, data)
	i := f.node(t, "node", packed)
	i.Method, i.URL, i.File = manifest.MethodWebDownload, web(t, "download", packed), ""
	former := f.other(t, f.sandbox.Member, packed, images.CreateOpts{Name: "node", DiskFormat: "qcow2", Properties: map[string]string{PropertyMark: "node", PropertyDigest: "sha512:" + sha512of(packed)}})
	if found, err := f.Verify(t.Context(), list(i), false); err != nil || !slices.ContainsFunc(found, func(f Finding) bool { return f.ID == former && f.Cause == packedReason }) {
		t.Errorf("verify says %+v, %v", found, err)
	}
	result := f.sync(t, i)
	if result.ID == former || result.Bytes == 0 || !bytes.Equal(f.bytes(t, result.ID), data) {
		t.Errorf("result %+v", result)
	}
	for _, r := range f.all(t) {
		if r.Hidden != (r.ID == former) {
			t.Errorf("%s is hidden: %t", r.ID, r.Hidden)
		}
	}
	if again := f.sync(t, i); again.Changed || again.ID != result.ID {
		t.Errorf("the second time: %+v", again)
	}
}
