package inside

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func ask(t *testing.T, base, path string, values url.Values) (int, string) {
	t.Helper()
	r, err := http.Get(base + path + "?" + values.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, strings.TrimSpace(string(text))
}

// TestTries answers what can be done from a pod, and says why something cannot.
func TestTries(t *testing.T) {
	t.Parallel()
	s := Server{Node: "n1", Token: "t", Dir: t.TempDir(), Resolve: func(_ context.Context, name string) ([]string, error) {
		if name != "web" {
			return nil, errors.New("no such host")
		}
		return []string{"10.0.0.1"}, nil
	}}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(closed.URL, "http://")
	closed.Close()
	own := strings.TrimPrefix(server.URL, "http://")
	lossy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// All of it is read first: an answer to half a request can end the connection under the client.
		text, _ := io.ReadAll(r.Body)
		_, _ = w.Write(text[:1400])
	}))
	defer lossy.Close()
	short := strings.TrimPrefix(lossy.URL, "http://")
	for _, test := range []struct {
		path   string
		values url.Values
		status int
		want   string
	}{
		{PathHello, url.Values{}, 200, "n1"},
		{PathName, url.Values{"of": {"web"}}, 403, "the token is wrong"},
		{PathName, url.Values{"token": {"t"}, "of": {"web"}}, 200, "10.0.0.1"},
		{PathName, url.Values{"token": {"t"}, "of": {"none"}}, 502, "no such host"},
		{PathFetch, url.Values{"token": {"t"}, "of": {own}}, 200, "n1"},
		{PathFetch, url.Values{"token": {"t"}, "of": {address}}, 502, "refused"},
		{PathExchange, url.Values{"token": {"t"}, "of": {own}}, 200, "65536"},
		{PathExchange, url.Values{"of": {own}}, 403, "the token is wrong"},
		{PathExchange, url.Values{"token": {"t"}, "of": {short}}, 502, "of 65536 bytes 1400 came back"},
		{PathDial, url.Values{"token": {"t"}, "of": {own}}, 200, own},
		{PathDial, url.Values{"token": {"t"}, "of": {address}}, 502, "refused"},
		{PathRead, url.Values{"token": {"t"}}, 502, "no such file"},
		{PathWrite, url.Values{"token": {"t"}, "text": {"a b"}}, 200, "written"},
		{PathRead, url.Values{"token": {"t"}}, 200, "a b"},
	} {
		if status, text := ask(t, server.URL, test.path, test.values); status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s %v: %d %q, want %d %q", test.path, test.values, status, text, test.status, test.want)
		}
	}
	bare := httptest.NewServer(Server{Token: "t"}.Handler())
	defer bare.Close()
	if status, text := ask(t, bare.URL, PathWrite, url.Values{"token": {"t"}}); status != 502 || !strings.Contains(text, "no volume") {
		t.Errorf("without a volume: %d %s", status, text)
	}
}
