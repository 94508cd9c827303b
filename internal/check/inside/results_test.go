package inside

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResults counts what processes of the tests report, each for itself, and gives the files of
// their results to who has the token; nothing else of the folder.
func TestResults(t *testing.T) {
	t.Parallel()
	s := Server{Token: "t", Results: t.TempDir()}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for _, report := range []string{`{"msg":"Test Suite starting","total":3}`, `{"msg":"PASSED one","total":3,"completed":1}`, `{"msg":"FAILED two","completed":0,"failed":1}`, `{"msg":"PASSED three","completed":1}`} {
		r, err := http.Post(server.URL+PathProgress, "application/json", strings.NewReader(report))
		if err != nil || r.Body.Close() != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", report, r, err)
		}
	}
	token := url.Values{"token": {"t"}}
	got := Progress{}
	if status, text := ask(t, server.URL, PathProgress, token); status != 200 || json.Unmarshal([]byte(text), &got) != nil || got != (Progress{Total: 3, Passed: 2, Failed: 1, Last: "three"}) {
		t.Errorf("progress: %d %s", status, text)
	}
	if status, _ := ask(t, server.URL, PathProgress, nil); status != 403 {
		t.Errorf("progress without the token: %d", status)
	}
	for name, text := range map[string]string{FileLog: "the log", "secret": "a secret"} {
		if err := os.WriteFile(filepath.Join(s.Results, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		token, of string
		status    int
		want      string
	}{
		{"t", FileLog, 200, "the log"},
		{"", FileLog, 403, "the token is wrong"},
		{"t", FileJUnit, 404, "not found"},
		{"t", "secret", 404, "not found"},
		{"t", "../" + filepath.Base(s.Results) + "/secret", 404, "not found"},
	} {
		if status, text := ask(t, server.URL, PathResult, url.Values{"token": {c.token}, "of": {c.of}}); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %d %q", c, status, text)
		}
	}
	request := httptest.NewRequest(http.MethodPost, PathProgress, strings.NewReader(`{"total":9}`))
	request.RemoteAddr = "10.1.0.7:1234"
	answer := httptest.NewRecorder()
	if s.Handler().ServeHTTP(answer, request); answer.Code != http.StatusForbidden {
		t.Errorf("another pod reports: %d", answer.Code)
	}
	without := httptest.NewServer(Server{Token: "t"}.Handler())
	defer without.Close()
	if status, text := ask(t, without.URL, PathResult, url.Values{"token": {"t"}, "of": {FileLog}}); status != 404 {
		t.Error(fmt.Sprint("without a folder: ", status, text))
	}
}
