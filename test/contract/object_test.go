package contract_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// swift is an empty container in Swift.
type swift struct {
	// account is the URL of the account, without a slash at its end.
	account, container, token string
}

func newSwift(t *testing.T) swift {
	t.Helper()
	clients := member(t)
	s := swift{account: strings.TrimSuffix(clients.ObjectStorage(t).Endpoint, "/"), container: unique(t), token: clients.Provider.Token()}
	if got := s.do(t, http.MethodPut, "", "", nil); got.status != http.StatusCreated {
		t.Fatalf("making a container: %d %s", got.status, got.text)
	}
	t.Cleanup(func() { s.remove(t, s.container) })
	return s
}

// do asks for something in the container.
func (s swift) do(t *testing.T, method, object, body string, header map[string]string) answer {
	t.Helper()
	path := "/" + s.container
	if object != "" {
		path += "/" + object
	}
	return raw(t, method, s.account+path, s.token, body, header)
}

// remove deletes a container and what is in it, after the test.
func (s swift) remove(t *testing.T, container string) {
	ctx := cleanup(t)
	ask := func(method, path string) string {
		request := must[*http.Request](t)(http.NewRequestWithContext(ctx, method, s.account+"/"+path, nil))
		request.Header.Set("X-Auth-Token", s.token)
		response := must[*http.Response](t)(http.DefaultClient.Do(request))
		defer response.Body.Close()
		return string(must[[]byte](t)(io.ReadAll(response.Body)))
	}
	for name := range strings.Lines(ask(http.MethodGet, container)) {
		ask(http.MethodDelete, container+"/"+url.PathEscape(strings.TrimSpace(name)))
	}
	ask(http.MethodDelete, container)
}

// request is one of a sequence, with what its answer must have.
type request struct {
	what, method, object, body string
	header                     map[string]string
	status                     int
	// want are headers of the answer; "-" is none.
	want map[string]string
	text string
}

func (s swift) expect(t *testing.T, requests []request) {
	t.Helper()
	for _, r := range requests {
		got := s.do(t, r.method, r.object, r.body, r.header)
		if got.status != r.status {
			t.Errorf("%s: %d, want %d: %s", r.what, got.status, r.status, got.text)
		}
		for name, want := range r.want {
			value := got.header.Get(name)
			if want == "-" {
				want = ""
			}
			if value != want {
				t.Errorf("%s: %s is %q, want %q", r.what, name, value, want)
			}
		}
		if r.text != "" && got.text != r.text {
			t.Errorf("%s: it has %q, want %q", r.what, got.text, r.text)
		}
	}
}

func sum(text string) string {
	digest := md5.Sum([]byte(text))
	return hex.EncodeToString(digest[:])
}

type headers = map[string]string

func TestObjectContainers(t *testing.T) {
	t.Parallel()
	s := newSwift(t)
	s.expect(t, []request{
		{what: "again", method: "PUT", status: 202},
		{what: "metadata", method: "POST", header: headers{"X-Container-Meta-Color": "blue", "X-Container-Meta-Shape": "round"}, status: 204},
		{what: "more metadata", method: "POST", header: headers{"X-Container-Meta-Shape": ""}, status: 204},
		{what: "head", method: "HEAD", status: 204, want: headers{"X-Container-Meta-Color": "blue", "X-Container-Meta-Shape": "-", "X-Container-Object-Count": "0", "X-Container-Bytes-Used": "0"}},
		{what: "empty listing", method: "GET", status: 204, text: ""},
		{what: "empty listing in JSON", method: "GET", header: headers{"Accept": "application/json"}, status: 200, text: "[]"},
		{what: "metadata goes", method: "POST", header: headers{"X-Remove-Container-Meta-Color": "x"}, status: 204},
		{what: "head again", method: "HEAD", status: 204, want: headers{"X-Container-Meta-Color": "-"}},
		{what: "object", method: "PUT", object: "a", body: "x", status: 201},
		{what: "not empty", method: "DELETE", status: 409},
		{what: "object goes", method: "DELETE", object: "a", status: 204},
		{what: "object is gone", method: "DELETE", object: "a", status: 404},
		{what: "delete", method: "DELETE", status: 204},
		{what: "gone", method: "DELETE", status: 404},
		{what: "head of none", method: "HEAD", status: 404},
		{what: "object in none", method: "PUT", object: "a", body: "x", status: 404},
	})
}

func TestObjects(t *testing.T) {
	t.Parallel()
	s := newSwift(t)
	s.expect(t, []request{
		{what: "put", method: "PUT", object: "a/b", body: "hello", header: headers{"Content-Type": "text/plain", "X-Object-Meta-Color": "blue"}, status: 201, want: headers{"Etag": sum("hello")}},
		{what: "get", method: "GET", object: "a/b", status: 200, text: "hello", want: headers{"Etag": sum("hello"), "Content-Type": "text/plain", "X-Object-Meta-Color": "blue", "Accept-Ranges": "bytes"}},
		{what: "head", method: "HEAD", object: "a/b", status: 200, want: headers{"Content-Length": "5"}},
		{what: "part", method: "GET", object: "a/b", header: headers{"Range": "bytes=1-3"}, status: 206, text: "ell", want: headers{"Content-Range": "bytes 1-3/5"}},
		{what: "end", method: "GET", object: "a/b", header: headers{"Range": "bytes=-2"}, status: 206, text: "lo"},
		{what: "beyond", method: "GET", object: "a/b", header: headers{"Range": "bytes=9-"}, status: 416},
		{what: "put only if none", method: "PUT", object: "a/b", body: "other", header: headers{"If-None-Match": "*"}, status: 412},
		{what: "get if changed", method: "GET", object: "a/b", header: headers{"If-None-Match": sum("hello")}, status: 304},
		{what: "get if the same", method: "GET", object: "a/b", header: headers{"If-Match": sum("other")}, status: 412},
		{what: "wrong digest", method: "PUT", object: "c", body: "x", header: headers{"ETag": sum("y")}, status: 422},
		{what: "not stored", method: "HEAD", object: "c", status: 404},
		{what: "metadata", method: "POST", object: "a/b", header: headers{"X-Object-Meta-Shape": "round"}, status: 202},
		{what: "metadata is replaced", method: "HEAD", object: "a/b", status: 200, want: headers{"X-Object-Meta-Color": "-", "X-Object-Meta-Shape": "round"}},
		{what: "metadata of none", method: "POST", object: "c", status: 404},
		{what: "copy", method: "PUT", object: "d", header: headers{"X-Copy-From": "/" + s.container + "/a/b"}, status: 201},
		{what: "copied", method: "GET", object: "d", status: 200, text: "hello", want: headers{"X-Object-Meta-Shape": "round"}},
		{what: "copy of none", method: "PUT", object: "e", header: headers{"X-Copy-From": "/" + s.container + "/none"}, status: 404},
		{what: "COPY", method: "COPY", object: "d", header: headers{"Destination": s.container + "/f"}, status: 201},
		{what: "another name", method: "PUT", object: "%C3%BC%20%3F", body: "x", status: 201},
		{what: "other names", method: "GET", object: "%C3%BC%20%3F", status: 200, text: "x"},
		{what: "no length", method: "PUT", object: "g", status: 201, want: headers{"Etag": sum("")}},
		{what: "a past deletion", method: "PUT", object: "h", body: "x", header: headers{"X-Delete-At": "1"}, status: 400},
		{what: "an unknown method", method: "PATCH", object: "d", status: 405},
	})
}

func TestObjectListings(t *testing.T) {
	t.Parallel()
	s := newSwift(t)
	for _, name := range []string{"a", "b/1", "b/2", "c"} {
		s.expect(t, []request{{what: name, method: "PUT", object: name, body: name, status: 201}})
	}
	eventually(t, "four objects", func() bool { return s.do(t, "HEAD", "", "", nil).header.Get("X-Container-Object-Count") == "4" })
	for query, want := range map[string]string{
		"": "a\nb/1\nb/2\nc\n", "?prefix=b/": "b/1\nb/2\n", "?delimiter=/": "a\nb/\nc\n", "?prefix=b/&delimiter=/": "b/1\nb/2\n",
		"?limit=2": "a\nb/1\n", "?marker=b/1": "b/2\nc\n", "?end_marker=b/2": "a\nb/1\n", "?reverse=on&limit=1": "c\n", "?prefix=x": "",
	} {
		got := raw(t, http.MethodGet, s.account+"/"+s.container+query, s.token, "", nil)
		if got.text != want {
			t.Errorf("listing %q: %d %q, want %q", query, got.status, got.text, want)
		}
	}
	var entries []map[string]any
	got := raw(t, http.MethodGet, s.account+"/"+s.container+"?format=json&delimiter=/", s.token, "", nil)
	if err := json.Unmarshal([]byte(got.text), &entries); err != nil || len(entries) != 3 || entries[1]["subdir"] != "b/" ||
		entries[0]["name"] != "a" || entries[0]["hash"] != sum("a") || entries[0]["bytes"] != 1.0 {
		t.Errorf("in JSON: %v\n%s", err, got.text)
	}
	if got := raw(t, http.MethodGet, s.account+"/"+s.container+"?limit=10001", s.token, "", nil); got.status != http.StatusPreconditionFailed {
		t.Errorf("more than a listing may have: %d", got.status)
	}
}

func TestObjectAccess(t *testing.T) {
	t.Parallel()
	s := newSwift(t)
	s.expect(t, []request{{what: "put", method: "PUT", object: "a", body: "x", status: 201}})
	stranger := newPerson(t).clients(t)
	theirs := swift{s.account, s.container, stranger.Provider.Token()}
	theirs.expect(t, []request{
		{what: "a stranger reads", method: "GET", object: "a", status: 403},
		{what: "a stranger writes", method: "PUT", object: "a", body: "y", status: 403},
		{what: "a stranger lists", method: "GET", status: 403},
		{what: "a stranger deletes", method: "DELETE", status: 403},
	})
	nobody := swift{s.account, s.container, ""}
	nobody.expect(t, []request{{what: "nobody reads", method: "GET", object: "a", status: 401}})
	s.expect(t, []request{{what: "for all", method: "POST", header: headers{"X-Container-Read": ".r:*,.rlistings"}, status: 204}})
	nobody.expect(t, []request{
		{what: "all read", method: "GET", object: "a", status: 200, text: "x"},
		{what: "all list", method: "GET", status: 200, text: "a\n"},
		{what: "nobody writes", method: "PUT", object: "a", body: "y", status: 401},
	})
	wrong := swift{s.account, s.container, "gAAAAAwrong"}
	wrong.expect(t, []request{{what: "a wrong token", method: "PUT", object: "a", body: "y", status: 401}})
}

func TestObjectLarge(t *testing.T) {
	t.Parallel()
	s := newSwift(t)
	parts := `[{"path": "/` + s.container + `/parts/1", "etag": "` + sum("one") + `", "size_bytes": 3}, {"path": "/` + s.container + `/parts/2"}]`
	s.expect(t, []request{
		{what: "part 1", method: "PUT", object: "parts/1", body: "one", status: 201},
		{what: "part 2", method: "PUT", object: "parts/2", body: "two", status: 201},
		{what: "manifest", method: "PUT", object: "static?multipart-manifest=put", body: parts, status: 201},
		{what: "of parts", method: "GET", object: "static", status: 200, text: "onetwo", want: headers{"X-Static-Large-Object": "True", "Etag": `"` + sum(sum("one")+sum("two")) + `"`}},
		{what: "some of it", method: "GET", object: "static", header: headers{"Range": "bytes=2-3"}, status: 206, text: "et"},
		{what: "a part is missing", method: "PUT", object: "bad?multipart-manifest=put", body: `[{"path": "/` + s.container + `/none"}]`, status: 400},
		{what: "by a prefix", method: "PUT", object: "dynamic", header: headers{"X-Object-Manifest": s.container + "/parts/"}, status: 201},
		{what: "with all of its parts", method: "DELETE", object: "static?multipart-manifest=delete", status: 200},
		{what: "parts are gone", method: "HEAD", object: "parts/1", status: 404},
	})
}
