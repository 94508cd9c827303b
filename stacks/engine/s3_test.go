package engine_test

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

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

// proves: S-06
func TestStateInS3(t *testing.T) {
	t.Parallel()
	objects := &store{objects: map[string][]byte{}}
	server := httptest.NewServer(objects)
	t.Cleanup(server.Close)
	c, folder := newCloud(), t.TempDir()
	o := options(c, folder, nil)
	o.Backend = "s3://states/prod?region=default&s3ForcePathStyle=true&endpoint=" + url.QueryEscape(server.URL)
	o.Environ = []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	up(t, e, "a", "b")
	objects.mu.Lock()
	found := false
	for key, text := range objects.objects {
		found = found || strings.HasSuffix(key, "/stacks/slipway/test.json")
		if bytes.Contains(text, []byte(theSecret)) {
			t.Errorf("%s holds a secret", key)
		}
	}
	objects.mu.Unlock()
	if !found {
		t.Error("no state in the store")
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
