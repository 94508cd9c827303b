package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// openConsole serves the console until the test ends, and enters it by the link that it
// prints. get returns a page; end ends the console and returns its exit code.
func openConsole(t *testing.T, args ...string) (get func(path string) string, end func() fault.Exit) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	out, told := &stream{}, &stream{}
	ended := make(chan fault.Exit, 1)
	streams := ui.Streams{In: strings.NewReader(""), Out: out, Err: told}
	go func() { ended <- Report(streams, Run(ctx, streams, append([]string{"console", "serve"}, args...))) }()
	for until := time.Now().Add(time.Minute); !strings.Contains(out.String(), "\n"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) || len(ended) > 0 {
			t.Fatalf("no link: %s", told)
		}
	}
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	ask := func(url string) string {
		response, err := client.Get(url) //nolint:noctx // the console ends with the test
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	link := strings.TrimSpace(out.String())
	base, _, _ := strings.Cut(link, "/enter")
	if first := ask(link); !strings.HasPrefix(base, "http://127.0.0.1:") || !strings.Contains(first, "<h1>Overview</h1>") {
		t.Fatalf("%s: %s", link, first)
	}
	return func(path string) string { return ask(base + path) }, func() fault.Exit {
		cancel(fault.ErrInterrupted)
		return <-ended
	}
}

// eventually gets a page until it has a text.
func eventually(t *testing.T, get func(string) string, path, want string) (page string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if page = get(path); strings.Contains(page, want) {
			return page
		}
	}
	t.Fatalf("%s never had %q:\n%s", path, want, page)
	return page
}

// TestTheConsoleShowsWhatCommandsPrint of an environment whose seed never answers.
func TestTheConsoleShowsWhatCommandsPrint(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	upToTheSeed(t, file)
	get, end := openConsole(t, "-f", file)
	last := data[logData](t, "log", "-f", file, "-o", "json").Runs[0]
	up := eventually(t, get, "/up", "interrupted")
	for _, want := range []string{last.ID, ">network</bdi>", "Where it ended", "The run was interrupted.", "Watch again", "slipway log " + last.ID + " --file " + file} {
		if !strings.Contains(up, want) {
			t.Errorf("the bring-up has no %q:\n%s", want, up)
		}
	}
	environment := eventually(t, get, "/environment", "In the cloud")
	for _, r := range data[statusData](t, "status", "-f", file, "-o", "json").Resources {
		if !strings.Contains(environment, "<bdi>"+r.Name+"</bdi>") {
			t.Errorf("the environment has no %s %s", r.Type, r.Name)
		}
	}
	if log := get("/log/" + last.ID); !strings.Contains(log, last.Files[0].SHA256) || !strings.Contains(log, "network: created") {
		t.Errorf("the run:\n%s", log)
	}
	if clusters := eventually(t, get, "/clusters", "Nothing is known of the clusters yet."); !strings.Contains(clusters, "Next: see its progress with slipway status") {
		t.Errorf("the clusters:\n%s", clusters)
	}
	eventually(t, get, "/causes", "No cause found")
	eventually(t, get, "/backups", "no spec.backup")
	eventually(t, get, "/certificates", "There are no certificates yet")
	if page := eventually(t, get, "/capacity", "Quotas</h2>"); !strings.Contains(page, "cores") || !strings.Contains(page, "slipway preflight --file "+file) {
		t.Errorf("the quotas:\n%s", page)
	}
	if page := eventually(t, get, "/plan", "Could not read the plan."); !strings.Contains(page, "(check bundle)") || !strings.Contains(page, "Fix: run `slipway bundle build") || strings.Count(page, "role=\"alert\"") > 6 || !strings.Contains(page, " more causes.") {
		t.Errorf("a plan without a whole bundle:\n%s", page)
	}
	if code := end(); code != fault.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestTheConsoleShowsAFileOfEvents without an environment.
func TestTheConsoleShowsAFileOfEvents(t *testing.T) {
	t.Chdir(t.TempDir())
	line := `{"time":"2026-01-02T03:00:0%T%Z","since":"2026-01-02T03:00:00Z","step":"network","state":"%S%","message":"creating"}` + "\n"
	text := "warning: a line of another kind\n" + strings.NewReplacer("%T%", "0", "%S%", "started").Replace(line)
	check(t, os.WriteFile("events.jsonl", []byte(text), 0o600))
	get, end := openConsole(t, "--events", "events.jsonl")
	eventually(t, get, "/up", "at work")
	check(t, os.WriteFile("events.jsonl", []byte(text+strings.NewReplacer("%T%", "7", "%S%", "done").Replace(line)), 0o600))
	if page := eventually(t, get, "/up", "1 of 1"); !strings.Contains(page, "7s") {
		t.Errorf("the bring-up:\n%s", page)
	}
	eventually(t, get, "/environment", "slipway.yaml")
	if code := end(); code != fault.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestTheConsoleIsForThisMachineOnly(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	check(t, os.WriteFile(empty, []byte("no event\n"), 0o600))
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"all addresses":     {[]string{"console", "serve", "--listen", ":8600"}, "this is for your machine only"},
		"another address":   {[]string{"console", "serve", "--listen", "192.0.2.1:8600"}, "for another machine use ssh -L"},
		"a name":            {[]string{"console", "serve", "--listen", "example.org:8600"}, "for your machine only"},
		"no port":           {[]string{"console", "serve", "--listen", "127.0.0.1"}, "missing port"},
		"no file":           {[]string{"console", "serve", "--events", "/nowhere"}, "no such file"},
		"a file of text":    {[]string{"console", "serve", "--events", empty}, "it has no events"},
		"a typing mistake":  {[]string{"console", "sevre"}, `unknown command "sevre"`},
		"a unit's console":  {[]string{"logs", "--console", "k3s", "--follow"}, "the console log has no units"},
		"a console to come": {[]string{"logs", "--console", "k3s", "--follow"}, "cannot follow the console log"},
	} {
		if code, _, stderr := run(t.Context(), test.args...); code != fault.ExitUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d\n%s", name, code, stderr)
		}
	}
}

// TestTheOldNameOfTheConsoleLog says the new one.
func TestTheOldNameOfTheConsoleLog(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	upToTheSeed(t, file)
	code, now, stderr := run(t.Context(), "logs", "--console", "--lines", "5", "-f", file)
	if code != fault.ExitOK || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	code, before, stderr := run(t.Context(), "console", "--lines", "5", "-f", file)
	if code != fault.ExitOK || before != now || !strings.Contains(stderr, "notice: use slipway logs --console instead") {
		t.Errorf("exit code %d, %q instead of %q\n%s", code, before, now, stderr)
	}
}
