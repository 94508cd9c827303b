package images

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

func TestImportMethods(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		rule   faultinject.Rule
		bytes  bool
	}{
		"glance-direct":          {manifest.MethodGlanceDirect, faultinject.Rule{}, true},
		"glance-direct refused":  {manifest.MethodGlanceDirect, faultinject.Rule{Kind: faultinject.API, Service: "image", Path: "/v2/info/import", Status: 404}, true},
		"web-download":           {manifest.MethodWebDownload, faultinject.Rule{}, false},
		"web-download refused":   {manifest.MethodWebDownload, faultinject.Rule{Kind: faultinject.API, Service: "image", Method: "POST", Path: "/v2/images/*/import", Status: 403}, true},
		"web-download not there": {manifest.MethodWebDownload, faultinject.Rule{Kind: faultinject.API, Service: "image", Path: "/v2/info/import", Status: 404}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if test.rule.Kind != "" {
				if _, err := f.sandbox.Faults.Add(test.rule); err != nil {
					t.Fatal(err)
				}
			}
			data := qcow2(1)
			i := f.node(t, "node", data)
			i.Method, i.URL, i.File = test.method, web(t, "node.qcow2", data), ""
			result := f.sync(t, i)
			if (result.Bytes > 0) != test.bytes || !bytes.Equal(f.bytes(t, result.ID), data) || len(f.all(t)) != 1 {
				t.Errorf("result %+v, images %+v", result, f.all(t))
			}
			if again := f.sync(t, i); again.Changed {
				t.Errorf("the second time: %+v", again)
			}
		})
	}
}

// What Glance fetched itself is compared too; an import that takes too long is
// given up and the bytes are sent.
func TestWebDownloadOfOtherBytesAndSlowly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := qcow2(1)
	var asked atomic.Int32
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n == 2 && strings.HasSuffix(r.URL.Path, "slow.qcow2") { // the first request is ours, for the head
			<-release
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	i := f.node(t, "node", qcow2(2))
	i.Method, i.URL, i.File = manifest.MethodWebDownload, server.URL+"/other.qcow2", ""
	if _, err := f.Sync(t.Context(), list(i)); err == nil || !strings.Contains(err.Error(), "content differs") {
		t.Errorf("other bytes: %v", err)
	}
	if left := f.all(t); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
	asked.Store(0)
	i.URL, i.SHA512 = server.URL+"/slow.qcow2", sha512of(data)
	f.ImportWait = 50 * time.Millisecond
	if result := f.sync(t, i); result.Bytes == 0 {
		t.Errorf("a slow import: %+v", result)
	}
}

// Two runs at once bring an image once.
func TestTwoRunsBringAnImageOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := imagetest.Qcow2(imagetest.Disk(2, 16), imagetest.Options{})
	i := f.node(t, "node", data)
	gate, reached := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.calls.next = &cutter{RoundTripper: f.calls.next, cut: func() { once.Do(func() { close(reached); <-gate }) }}
	first := make(chan error, 1)
	go func() {
		_, err := f.Sync(t.Context(), list(i))
		first <- err
	}()
	<-reached
	other := *f.Syncer
	second := make(chan Result, 1)
	go func() {
		results, err := other.Sync(t.Context(), list(i))
		if err != nil || len(results) != 1 {
			t.Errorf("the second run: %+v (%v)", results, err)
			results = []Result{{}}
		}
		second <- results[0]
	}()
	time.Sleep(50 * time.Millisecond)
	close(gate)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if r := <-second; r.Action != Use || len(f.all(t)) != 1 {
		t.Errorf("the second run: %+v, images %+v", r, f.all(t))
	}
}

// Of two runs that describe an image at once, one finds it described.
func TestAnotherRunDescribesTheImageFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.node(t, "node", imagetest.Qcow2(imagetest.Disk(2, 16), imagetest.Options{}))
	overtaken := &overtaker{RoundTripper: f.calls.next}
	f.calls.next = overtaken
	f.sync(t, i)
	all := f.all(t)
	if len(all) != 1 || all[0].Properties[PropertyLease] != "" || overtaken.refused == 0 {
		t.Errorf("%d refused, images %+v", overtaken.refused, all)
	}
}

// overtaker lets another run do the first change that takes the lease away.
type overtaker struct {
	http.RoundTripper
	done    bool
	refused int
}

func (o *overtaker) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.done || r.Method != http.MethodPatch {
		return o.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"remove"`)) {
		return o.RoundTripper.RoundTrip(r)
	}
	o.done = true
	before := r.Clone(r.Context())
	before.Body = io.NopCloser(bytes.NewReader(body))
	response, err := o.RoundTripper.RoundTrip(before)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	if response, err = o.RoundTripper.RoundTrip(r); err == nil && response.StatusCode == http.StatusConflict {
		o.refused++
	}
	return response, err
}

// The bytes between source and Glance never are more than a few pieces,
// however large the image is and however slow Glance takes it.
func TestMemoryIsConstant(t *testing.T) {
	t.Parallel()
	const size, most = 192 << 20, 48 << 20 // sockets hold a few MiB, too
	f := newFixture(t)
	var produced, taken, peak atomic.Int64
	source := io.TeeReader(io.LimitReader(repeating(imagetest.Disk(1, 1)), size), countTo(func(n int64) { produced.Add(n) }))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = io.Copy(w, source)
	}))
	t.Cleanup(server.Close)
	sums, err := io.ReadAll(io.LimitReader(repeating(imagetest.Disk(1, 1)), size))
	if err != nil {
		t.Fatal(err)
	}
	i := f.node(t, "node", nil)
	i.URL, i.File, i.Format, i.SHA512 = server.URL+"/node.raw", "", "raw", sha512of(sums)
	f.calls.next = &tapper{f.calls.next, func(n int64) {
		ahead := produced.Load() - taken.Add(n)
		if ahead > peak.Load() {
			peak.Store(ahead)
		}
	}}
	if result := f.sync(t, i); result.Bytes != size {
		t.Errorf("result %+v", result)
	}
	if peak.Load() > most || taken.Load() != size {
		t.Errorf("%d bytes were under way at once, %d in all", peak.Load(), taken.Load())
	}
}

type repeat struct {
	data []byte
	at   int
}

func repeating(data []byte) io.Reader { return &repeat{data: data} }

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.data[r.at:])
	r.at = (r.at + n) % len(r.data)
	return n, nil
}

type countTo func(int64)

func (c countTo) Write(p []byte) (int, error) { c(int64(len(p))); return len(p), nil }

// tapper tells of every byte that an upload sends.
type tapper struct {
	http.RoundTripper
	tell func(int64)
}

func (c *tapper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/file") {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, countTo(c.tell)), r.Body}
	}
	return c.RoundTripper.RoundTrip(r)
}

// proves: S-30
func TestSignatures(t *testing.T) {
	t.Parallel()
	data, other := qcow2(1), qcow2(2)
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, foreign, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	sums := sha256of(data) + " *node.qcow2\n" + sha256of(other) + "  other.qcow2\n"
	entity, err := openpgp.NewEntity("images", "", "images@example.org", nil)
	if err != nil {
		t.Fatal(err)
	}
	key := public.String()
	for name, test := range map[string]struct {
		data, signed []byte
		signature    manifest.Signature
		listed       string
		want         string
	}{
		"minisign":                {data, minisigned(t, private, data), manifest.Signature{Method: "minisign", PublicKey: key}, "", ""},
		"minisign of other":       {other, minisigned(t, private, data), manifest.Signature{Method: "minisign", PublicKey: key}, "", "signature is not valid"},
		"minisign, other comment": {data, bytes.Replace(minisigned(t, private, data), []byte("trusted comment: x"), []byte("trusted comment: y"), 1), manifest.Signature{Method: "minisign", PublicKey: key}, "", "signature is not valid"},
		"minisign, other key":     {data, minisigned(t, foreign, data), manifest.Signature{Method: "minisign", PublicKey: key}, "", fmt.Sprintf("made with another key (%016X, the manifest has %016X)", foreign.ID(), public.ID())},
		"minisign, old format":    {data, minisign.Sign(private, data), manifest.Signature{Method: "minisign", PublicKey: key}, "", "old format"},
		"openpgp":                 {data, pgpSigned(t, entity, data), manifest.Signature{Method: "openpgp", PublicKey: publicKey(t, entity)}, "", ""},
		"openpgp of other":        {other, pgpSigned(t, entity, data), manifest.Signature{Method: "openpgp", PublicKey: publicKey(t, entity)}, "", "signature is not valid"},
		"list":                    {data, pgpSigned(t, entity, []byte(sums)), manifest.Signature{Method: "openpgp", PublicKey: publicKey(t, entity)}, sums, ""},
		"list, other image":       {other, pgpSigned(t, entity, []byte(sums)), manifest.Signature{Method: "openpgp", PublicKey: publicKey(t, entity)}, sums, "content differs"},
		"list changed":            {other, pgpSigned(t, entity, []byte(sums)), manifest.Signature{Method: "openpgp", PublicKey: publicKey(t, entity)}, sums + " ", "signature is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.node(t, "node", test.data)
			i.URL, i.File = web(t, "node.qcow2", test.data), ""
			test.signature.From = string(f.file(t, "signature", test.signed))
			if test.listed != "" {
				i.SHA512, test.signature.Checksums = "", string(f.file(t, "SHA256SUMS", []byte(test.listed)))
			}
			i.Signature = &test.signature
			results, err := f.Sync(t.Context(), list(i))
			switch {
			case test.want == "" && (err != nil || len(results) != 1):
				t.Errorf("results %+v (%v)", results, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || fault.Remedy(err) == "" || len(f.all(t)) > 0):
				t.Errorf("ended with %v, left %+v", err, f.all(t))
			}
		})
	}
}

// TestSignaturesThatCannotBeRead: an image is not taken unchecked because what checks it is not
// there.
func TestSignaturesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	data := qcow2(1)
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*manifest.Signature){
		"no signature":  func(s *manifest.Signature) { s.From += ".absent" },
		"no list":       func(s *manifest.Signature) { s.Checksums = s.From + ".absent" },
		"a key of text": func(s *manifest.Signature) { s.PublicKey = "secret" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.node(t, "node", data)
			i.Signature = &manifest.Signature{Method: "minisign", PublicKey: public.String(), From: string(f.file(t, "signature", minisigned(t, private, data)))}
			change(i.Signature)
			if _, err := f.Sync(t.Context(), list(i)); err == nil || fault.Remedy(err) == "" || len(f.all(t)) > 0 {
				t.Errorf("ended with %v, left %+v", err, f.all(t))
			}
		})
	}
}

// minisigned signs with another implementation than the one that checks.
func minisigned(t *testing.T, key minisign.PrivateKey, data []byte) []byte {
	t.Helper()
	r := minisign.NewReader(bytes.NewReader(data))
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	return r.SignWithComments(key, "x", "s")
}

func pgpSigned(t *testing.T, entity *openpgp.Entity, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&out, entity, bytes.NewReader(data), nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func publicKey(t *testing.T, entity *openpgp.Entity) string {
	t.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = entity.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
