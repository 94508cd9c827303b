package inside

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResults counts what ended in a log that grows, and gives the files of the results to who
// has the token; nothing else of the folder.
func TestResults(t *testing.T) {
	t.Parallel()
	s := Server{Token: "t", Results: t.TempDir()}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	token, path := url.Values{"token": {"t"}}, filepath.Join(s.Results, FileLog)
	log, written := "Will run 3 of 7144 specs\nSSS•SS\n------\n• [FAILED] [12.5 seconds]\n[sig-network] Services\nSS•SSS\n", 0
	// As it grows, also when it is read in the middle of a character.
	for _, c := range []struct {
		until string
		plus  int
		want  Progress
	}{
		{"", 0, Progress{}},
		{"Will run 3 of", 0, Progress{}},
		{"specs\nSSS", 1, Progress{Total: 3}},
		{"• [FA", 0, Progress{Total: 3, Ended: 2}},
		{"sig-network", 0, Progress{Total: 3, Ended: 2, Failed: 1}},
		{"\nSS•SSS\n", 0, Progress{Total: 3, Ended: 3, Failed: 1}},
	} {
		if c.until != "" {
			written = strings.Index(log, c.until) + len(c.until) + c.plus
			if err := os.WriteFile(path, []byte(log[:written]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := Progress{}
		if status, text := ask(t, server.URL, PathProgress, token); status != 200 || json.Unmarshal([]byte(text), &got) != nil || got != c.want {
			t.Errorf("until %q: %d %s, want %+v", c.until, status, text, c.want)
		}
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
	without := httptest.NewServer(Server{Token: "t"}.Handler())
	defer without.Close()
	if status, text := ask(t, without.URL, PathResult, url.Values{"token": {"t"}, "of": {FileLog}}); status != 404 {
		t.Error(fmt.Sprint("without a folder: ", status, text))
	}
}
