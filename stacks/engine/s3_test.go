package engine_test

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-sh/slipway/internal/s3test"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// store is as much of S3 as a state needs, in memory.
type store struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	object, exists := s.objects[key]
	switch {
	case r.Method == http.MethodGet && key == "":
		s.list(w, r.URL.Query())
	case r.Method == http.MethodPut:
		body := content(r)
		if from := r.Header.Get("X-Amz-Copy-Source"); from != "" {
			from, _ = url.PathUnescape(from)
			_, source, _ := strings.Cut(strings.TrimPrefix(from, "/"), "/")
			body = s.objects[source]
			fmt.Fprint(w, `<CopyObjectResult><ETag>"x"</ETag></CopyObjectResult>`)
		}
		s.objects[key] = body
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !exists:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
	default:
		sum := md5.Sum(object)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(object)))
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 20:00:00 GMT")
		if r.Method == http.MethodGet {
			_, _ = w.Write(object)
		}
	}
}

// content is the body of a request, without the framing of aws-chunked.
func content(r *http.Request) []byte {
	text, _ := io.ReadAll(r.Body)
	if !strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		return text
	}
	var out []byte
	for reader := bufio.NewReader(bytes.NewReader(text)); ; {
		line, _ := reader.ReadString('\n')
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil || n == 0 {
			return out
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(reader, chunk); err != nil {
			return out
		}
		out = append(out, chunk[:n]...)
	}
}

func (s *store) list(w io.Writer, query url.Values) {
	type entry struct {
		Key          string
		Size         int
		LastModified string
		ETag         string
	}
	type prefix struct{ Prefix string }
	result := struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Contents       []entry
		CommonPrefixes []prefix
	}{}
	seen := map[string]bool{}
	var keys []string
	for key := range s.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		rest, ok := strings.CutPrefix(key, query.Get("prefix"))
		if !ok {
			continue
		}
		if delimiter := query.Get("delimiter"); delimiter != "" {
			if head, _, deeper := strings.Cut(rest, delimiter); deeper {
				if common := query.Get("prefix") + head + delimiter; !seen[common] {
					seen[common] = true
					result.CommonPrefixes = append(result.CommonPrefixes, prefix{common})
				}
				continue
			}
		}
		result.Contents = append(result.Contents, entry{key, len(s.objects[key]), "2026-11-21T20:00:00.000Z", `"x"`})
	}
	_ = xml.NewEncoder(w).Encode(result)
}

// inS3 is an engine with its state in a bucket.
func inS3(t *testing.T, o engine.Options, address string) *engine.Engine {
	t.Helper()
	return inBucket(t, o, "states", "region=default&endpoint="+url.QueryEscape(address), "key", "secret")
}

func inBucket(t *testing.T, o engine.Options, bucket, query, access, secret string) *engine.Engine {
	t.Helper()
	o.Backend = "s3://" + bucket + "/prod?s3ForcePathStyle=true&" + query
	o.Environ = []string{"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret}
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestStateInS3 keeps a state in a store in memory, and in a real S3 server.
//
// proves: S-06
func TestStateInS3(t *testing.T) {
	t.Parallel()
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		objects := &store{objects: map[string][]byte{}}
		server := httptest.NewServer(objects)
		t.Cleanup(server.Close)
		stateInS3(t, server.URL, func() map[string][]byte {
			objects.mu.Lock()
			defer objects.mu.Unlock()
			return maps.Clone(objects.objects)
		})
	})
	t.Run("in a real server", func(t *testing.T) {
		t.Parallel()
		server := s3test.Start(t, "states")
		stateInS3(t, "http://"+server.Address, func() map[string][]byte { return filesIn(t, filepath.Join(server.Folder, "states")) })
	})
}

func filesIn(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path, folder+"/")], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// stateInS3 makes, keeps and removes an environment; objects are what the store
// has by key.
func stateInS3(t *testing.T, address string, objects func() map[string][]byte) {
	c, folder := newCloud(), t.TempDir()
	keepState(t, c, folder, inS3(t, options(c, folder, nil), address), objects)
}

func keepState(t *testing.T, c *cloud, folder string, e *engine.Engine, objects func() map[string][]byte) {
	t.Helper()
	up(t, e, "a", "b")
	found := false
	for key, text := range objects() {
		found = found || strings.HasSuffix(key, "/stacks/slipway/test.json")
		if bytes.Contains(text, []byte(theSecret)) {
			t.Errorf("%s holds a secret", key)
		}
		if strings.Contains(key, "/locks/") {
			t.Errorf("a lock is left: %s", key)
		}
	}
	if !found {
		t.Errorf("no state in the store: %v", slices.Sorted(maps.Keys(objects())))
	}
	if local, _ := filepath.Glob(filepath.Join(folder, "state")); len(local) > 0 {
		t.Errorf("a state in the folder, too: %v", local)
	}
	if report := up(t, e, "a", "b"); len(report.Changes) != 0 {
		t.Errorf("second up changed %v", report.Changes)
	}
	if _, err := e.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if now, _ := c.count(); now != 0 {
		t.Errorf("%d things left", now)
	}
}

// TestTheStateMovesBetweenBackends exports a state from a folder into a store
// and from there into another folder: what comes out is what went in, and
// nothing is made anew.
//
// proves: S-05
func TestTheStateMovesBetweenBackends(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&store{objects: map[string][]byte{}})
	t.Cleanup(server.Close)
	c, passphrase := newCloud(), t.TempDir()
	in := func(address string) *engine.Engine {
		o := options(c, t.TempDir(), nil)
		o.Passphrase = engine.PassphraseFile(filepath.Join(passphrase, "passphrase"))
		if address != "" {
			return inS3(t, o, address)
		}
		e, err := engine.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := in("")
	up(t, first, "a", "b")
	want, err := first.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, backend := range []string{server.URL, ""} {
		next := in(backend)
		if err := next.Import(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := next.Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := resourcesOf(t, got), resourcesOf(t, want); !reflect.DeepEqual(got, want) {
			t.Errorf("in %q there is\n%v\nnot\n%v", backend, got, want)
		}
		if report := up(t, next, "a", "b"); len(report.Changes) != 0 {
			t.Errorf("in %q up changed %v", backend, report.Changes)
		}
		if want, err = next.Export(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// resourcesOf is what an exported state holds, without where in the code each was
// made, and without ciphertexts: they differ each time, as they must.
func resourcesOf(t *testing.T, exported []byte) []map[string]any {
	t.Helper()
	var state struct {
		Deployment struct {
			Resources []map[string]any `json:"resources"`
		} `json:"deployment"`
	}
	exported = regexp.MustCompile(`"ciphertext": "[^"]*"`).ReplaceAll(exported, []byte(`"ciphertext": ""`))
	if err := json.Unmarshal(exported, &state); err != nil || len(state.Deployment.Resources) < 3 {
		t.Fatalf("%v in %s", err, exported)
	}
	for _, resource := range state.Deployment.Resources {
		delete(resource, "sourcePosition")
		delete(resource, "stackTrace")
	}
	return state.Deployment.Resources
}
